/// The origin of a page (RFC 6454): scheme, host and port.
package struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
  private static let ports: [String: UInt16] = ["http": 80, "https": 443]

  private let scheme: String
  /// The scheme's own port.
  private let ownPort: UInt16
  /// Host and port, without the scheme's own.
  private let authority: HostAndPort

  /// Reads an origin as browsers write it: `https://example.org`, or `http://[::1]:8080`.
  ///
  /// - Parameter text: the origin.
  /// - Returns: nil for anything else, such as `null`.
  package init?(_ text: String) {
    let parts = text.lowercased().split(separator: "://", maxSplits: 1)
    guard parts.count == 2, let ownPort = Self.ports[String(parts[0])],
      let authority = HostAndPort(parts[1])
    else { return nil }
    scheme = String(parts[0])
    self.ownPort = ownPort
    self.authority = authority.without(port: ownPort)
  }

  /// Returns whether a page of the origin came from the server that a request is for.
  ///
  /// - Parameter host: host and port as the request names them. The scheme may be a proxy's.
  package func isOf(host: String) -> Bool {
    HostAndPort(host)?.without(port: ownPort) == authority
  }

  /// The origin as browsers write it.
  package var description: String { "\(scheme)://\(authority)" }
}
