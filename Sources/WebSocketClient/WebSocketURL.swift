/// The address of a WebSocket (RFC 6455 section 3), without user information and fragment.
public struct WebSocketURL: Sendable, Hashable {
  /// Whether TLS is spoken: `wss`.
  public let isSecure: Bool
  /// A name or an address; an IPv6 address stands without brackets.
  public let host: String
  /// The port; 80 or 443 where the text has none.
  public let port: UInt16
  /// The path, which begins with a slash.
  public let path: String
  /// The part behind the question mark, or nil without one.
  public var query: String? {
    didSet { if !Self.isPrintable(query ?? "") { query = oldValue } }
  }

  /// The longest text taken, in bytes.
  private static let longest = 4096

  /// Reads an address.
  ///
  /// - Parameter text: `ws://HOST[:PORT][PATH][?QUERY]` or the same with `wss`, printable ASCII.
  public init?(_ text: String) {
    guard text.utf8.count <= Self.longest, Self.isPrintable(text), !text.contains("#"),
      let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://")
    else { return nil }
    switch text[..<colon].lowercased() {
    case "ws": isSecure = false
    case "wss": isSecure = true
    default: return nil
    }
    let rest = text[colon...].dropFirst(3)
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    guard let (host, port) = Self.split(rest[..<end]) else { return nil }
    self.host = host
    self.port = port ?? (isSecure ? 443 : 80)
    let parts = rest[end...].split(
      separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = parts.first.flatMap { $0.isEmpty ? nil : String($0) } ?? "/"
    query = parts.count == 2 ? String(parts[1]) : nil
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

  private static func split(_ authority: Substring) -> (host: String, port: UInt16?)? {
    let host: Substring
    let rest: Substring
    if authority.hasPrefix("[") {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      host = authority[..<end].dropFirst()
      rest = authority[end...].dropFirst()
      guard host.contains(":"), host.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." })
      else { return nil }
    } else {
      host = authority.prefix { $0 != ":" }
      rest = authority[host.endIndex...]
      // All of it is ASCII.
      guard host.allSatisfy({ $0.isLetter || $0.isNumber || "-._".contains($0) }) else {
        return nil
      }
    }
    guard (1...253).contains(host.utf8.count) else { return nil }
    guard !rest.isEmpty else { return (String(host), nil) }
    let digits = rest.dropFirst()
    guard rest.first == ":", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let port = UInt16(digits), port != 0
    else { return nil }
    return (String(host), port)
  }
}

extension WebSocketURL: CustomStringConvertible {
  /// The whole address as text.
  public var description: String { "\(isSecure ? "wss" : "ws")://\(authority)\(target)" }
}
