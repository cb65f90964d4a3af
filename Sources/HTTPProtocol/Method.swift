/// A request method, as RFC 9110 section 9 and RFC 5789 name them.
public enum Method: Hashable, Sendable {
  /// Asks for the resource.
  case get
  /// `GET` without the body of the response.
  case head
  /// Hands content to the resource.
  case post
  /// Replaces the resource.
  case put
  /// Deletes the resource.
  case delete
  /// Asks a proxy for a tunnel.
  case connect
  /// Asks what the resource or the server can do.
  case options
  /// Asks for an echo of the request.
  case trace
  /// Changes a part of the resource.
  case patch
  /// Any other token.
  case other(String)

  /// Reads a method from its token.
  ///
  /// - Parameter token: the bytes before the first space of the request line; methods are case-sensitive.
  public init(_ token: some Collection<UInt8>) {
    let fits = token.count <= 8 && token.first != 0
    self =
      Method(packed: fits ? token.reduce(0) { $0 << 8 | UInt64($1) } : 0)
      ?? .other(String(decoding: token, as: UTF8.self))
  }

  /// Finds a known method by its characters in one number, the first one highest.
  private init?(packed: UInt64) {
    switch packed {
    case 0x47_45_54: self = .get
    case 0x48_45_41_44: self = .head
    case 0x50_4f_53_54: self = .post
    case 0x50_55_54: self = .put
    case 0x44_45_4c_45_54_45: self = .delete
    case 0x43_4f_4e_4e_45_43_54: self = .connect
    case 0x4f_50_54_49_4f_4e_53: self = .options
    case 0x54_52_41_43_45: self = .trace
    case 0x50_41_54_43_48: self = .patch
    default: return nil
    }
  }

  /// The token that stands in a request line and in `Allow`.
  public var name: String {
    switch self {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    case .delete: "DELETE"
    case .connect: "CONNECT"
    case .options: "OPTIONS"
    case .trace: "TRACE"
    case .patch: "PATCH"
    case .other(let name): name
    }
  }

  /// True if the name is a token (RFC 9110 section 5.6.2), as a method must be.
  public var isToken: Bool { !name.isEmpty && name.utf8.allSatisfy(ByteSet.token.contains) }
}
