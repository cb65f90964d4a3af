/// A host, with a port or without, as URLs and `Host` have them: `push.lan:8443`, or `[2001:db8::1]`.
package struct HostAndPort: Hashable, Sendable, CustomStringConvertible {
  /// The name or address in lower case, that of IPv6 with its brackets.
  private let host: String
  /// The port, or nil for the scheme's own.
  package private(set) var port: UInt16?

  /// Takes host and port of a URL, without a port that is its scheme's own.
  package init(_ url: WebURL, ownPort: UInt16) {
    host = url.host
    port = url.port == ownPort ? nil : url.port
  }

  /// Reads a host and a port.
  ///
  /// - Parameters:
  ///   - text: the host, and the port behind a colon if there is one.
  ///   - ownPort: the port of the scheme that they are of, which is left out.
  /// - Returns: nil for anything else.
  package init?(_ text: String, ownPort: UInt16) {
    guard let url = WebURL("http://\(text)", schemes: ["http"]), url.isOrigin else { return nil }
    self.init(url, ownPort: ownPort)
  }

  /// The host, and the port behind a colon if there is one.
  package var description: String { host + (port.map { ":\($0)" } ?? "") }
}
