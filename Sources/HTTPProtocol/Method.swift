/// A request method, as RFC 9110 section 9 and RFC 5789 name them.
public enum Method: Hashable, Sendable {
  case get, head, post, put, delete, connect, options, trace, patch
  /// Any other token.
  case other(String)

  /// Reads a method from its token.
  ///
  /// - Parameter token: the bytes before the first space of the request line; methods are case-sensitive.
  public init(_ token: some Collection<UInt8>) {
    let name = String(decoding: token, as: UTF8.self)
    self = Method.known.first { $0.name == name } ?? .other(name)
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

  private static let known: [Method] = [
    .get, .head, .post, .put, .delete, .connect, .options, .trace, .patch,
  ]
}
