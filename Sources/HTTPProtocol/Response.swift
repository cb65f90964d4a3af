public import Formats

/// The response to a request, before the server adds `Date`, `Connection` and `Content-Length`.
public struct Response: Sendable {
  /// The content of a response.
  public enum Body: Sendable {
    /// No bytes.
    case none
    /// Shared bytes, written without a copy.
    case bytes(Bytes)
    /// Bytes of this response alone.
    case array([UInt8])
    /// Pieces that are made one after the other, as the client takes them. If one can't be made, the response is cut.
    ///
    /// Indirect, as the layout of a stream is only known when the program runs: each copy of a response would ask for it.
    indirect case pieces(AsyncThrowingStream<[UInt8], any Error>)

    /// The length in bytes, 0 where it isn't known.
    public var count: Int {
      switch self {
      case .none, .pieces: 0
      case .bytes(let bytes): bytes.count
      case .array(let array): array.count
      }
    }
  }

  /// The status code.
  public var status: Status
  /// The header fields that the handler gives.
  public var fields: HeaderFields
  /// The body, which the server leaves out for `HEAD` and for statuses without one.
  public var body: Body
  /// True if the connection ends after this response.
  public var closes = false

  /// A response.
  ///
  /// - Parameters:
  ///   - status: the status code.
  ///   - fields: the header fields.
  ///   - body: the body.
  public init(_ status: Status, fields: HeaderFields = HeaderFields(), body: Body = .none) {
    (self.status, self.fields, self.body) = (status, fields, body)
  }

  /// A response with a text body.
  ///
  /// - Parameters:
  ///   - status: the status code.
  ///   - type: the value of `Content-Type`.
  ///   - text: the body, sent as UTF-8.
  public init(_ status: Status, type: String, text: String) {
    self.init(status, body: .array(Array(text.utf8)))
    fields.append(.contentType, type)
  }
}
