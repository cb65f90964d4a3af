/// The request line and the header fields of a request, checked by the rules of RFC 9112.
public struct RequestHead: Sendable {
  /// The versions this server speaks.
  public enum Version: Sendable { case http10, http11 }

  /// How the body is framed (RFC 9112 section 6.3).
  public enum Framing: Equatable, Sendable {
    case none
    /// `Content-Length`, in bytes.
    case length(Int)
    case chunked
  }

  /// One field line: where its name and its trimmed value stand in ``bytes``.
  struct Field: Sendable {
    var nameStart: UInt16
    var nameEnd: UInt16
    var valueStart: UInt16
    var valueEnd: UInt16
  }

  /// The head as it came.
  var bytes: [UInt8]
  var fields: [Field]

  /// The method.
  public let method: Method
  /// The version of the request line.
  public let version: Version
  /// How the body is framed.
  public let framing: Framing
  /// Whether the client wants the connection kept after the response.
  public let keepAlive: Bool
  /// Whether the client waits for `100 Continue` before it sends the body.
  public let expectsContinue: Bool
  var pathRange: Range<Int>
  var queryRange: Range<Int>?
  var hostRange: Range<Int>
}
