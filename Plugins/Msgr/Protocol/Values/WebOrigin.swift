internal import Formats

/// The origin of a page (RFC 6454): scheme, host and port.
struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
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
  init?(_ text: String) {
    guard let url = WebURL(text, schemes: Set(Self.ports.keys)), url.isOrigin,
      let ownPort = Self.ports[url.scheme]
    else { return nil }
    scheme = url.scheme
    self.ownPort = ownPort
    authority = HostAndPort(url, ownPort: ownPort)
  }

  /// Returns whether a page of the origin came from the server that a request is for.
  ///
  /// - Parameter host: host and port as the request names them. The scheme may be a proxy's.
  func isOf(host: String) -> Bool { HostAndPort(host, ownPort: ownPort) == authority }

  /// The origin as browsers write it.
  var description: String { "\(scheme)://\(authority)" }
}
