internal import Formats

/// The address of a WebSocket (RFC 6455 section 3), without user information and fragment.
public struct WebSocketURL: Sendable, Hashable {
  /// True if TLS is spoken: `wss`.
  public let isSecure: Bool
  /// A name or an address; an IPv6 address stands without brackets.
  public let host: String
  /// The port; 80 or 443 where the text has none.
  public let port: UInt16
  /// The path, which begins with a slash.
  public let path: String
  /// The part behind the question mark, or nil without one.
  public var query: String? { didSet { if !Self.isPrintable(query ?? "") { query = oldValue } } }

  /// The longest text taken, in bytes.
  private static let longest = 4096

  /// Reads an address.
  ///
  /// - Parameter text: `ws://HOST[:PORT][PATH][?QUERY]` or the same with `wss`, printable ASCII.
  public init?(_ text: String) {
    guard text.utf8.count <= Self.longest, let url = WebURL(text, schemes: ["ws", "wss"]) else {
      return nil
    }
    isSecure = url.scheme == "wss"
    host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
    port = url.port ?? (isSecure ? 443 : 80)
    path = url.path
    query = url.query
  }

  /// The value of `Host`: the port is left out where it is the scheme's.
  package var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }

  /// The target of the request line: path and query.
  var target: String { query.map { "\(path)?\($0)" } ?? path }

  private static func isPrintable(_ text: String) -> Bool {
    text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
  }
}

extension WebSocketURL: CustomStringConvertible {
  /// The whole address as text.
  public var description: String { "\(isSecure ? "wss" : "ws")://\(authority)\(target)" }
}
