/// The origin of a page (RFC 6454): scheme, host and port.
struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
  private static let ports = ["http": ":80", "https": ":443"]

  private let scheme: String
  /// Host and port in lower case, without the scheme's own port.
  private let authority: String

  /// Reads an origin as browsers write it: `https://example.org`, or `http://[::1]:8080`.
  ///
  /// - Parameter text: the origin.
  /// - Returns: nil for anything else, such as `null`.
  init?(_ text: String) {
    let parts = text.lowercased().split(separator: "://", maxSplits: 1)
    guard parts.count == 2, Self.ports[String(parts[0])] != nil, !parts[1].isEmpty,
      parts[1].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && !"/?#@,".utf8.contains($0) })
    else { return nil }
    scheme = String(parts[0])
    authority = Self.normal(String(parts[1]), scheme: scheme)
  }

  /// Returns whether a page of the origin came from the server that a request is for.
  ///
  /// - Parameter host: host and port as the request names them. The scheme may be a proxy's.
  func isOf(host: String) -> Bool {
    Self.normal(host.lowercased(), scheme: scheme) == authority
  }

  private static func normal(_ authority: String, scheme: String) -> String {
    guard let port = ports[scheme], authority.hasSuffix(port) else { return authority }
    return String(authority.dropLast(port.count))
  }

  /// The origin as browsers write it.
  var description: String { "\(scheme)://\(authority)" }
}
