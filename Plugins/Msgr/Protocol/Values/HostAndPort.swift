internal import Wire

/// A host, with a port or without, as URLs and `Host` have them: `push.lan:8443`, or `[2001:db8::1]`.
package struct HostAndPort: Hashable, Sendable, CustomStringConvertible {
  /// The name or address in lower case, that of IPv6 with its brackets.
  private let host: String
  /// The port, or nil for the scheme's own.
  package private(set) var port: UInt16?

  /// Reads a host and a port.
  ///
  /// - Parameter text: the host, and the port behind a colon if there is one.
  /// - Returns: nil for anything else.
  package init?(_ text: some StringProtocol) {
    let text = text.lowercased()
    let end =
      text.hasPrefix("[")
      ? text.firstIndex(of: "]").map(text.index(after:)) : text.firstIndex(of: ":")
    let host = text[..<(end ?? text.endIndex)]
    let rest = text[host.endIndex...]
    guard Self.isName(host) || Self.isVersion6(host) else { return nil }
    self.host = String(host)
    guard !rest.isEmpty else { return }
    let digits = rest.dropFirst()
    guard rest.first == ":", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let port = UInt16(digits), port > 0
    else { return nil }
    self.port = port
  }

  /// Returns the same without a port that is its scheme's own.
  package func without(port own: UInt16) -> HostAndPort {
    var result = self
    if port == own { result.port = nil }
    return result
  }

  private static func isName(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0.isLetterOrDigit || "-._".utf8.contains($0) }
  }

  private static func isVersion6(_ text: Substring) -> Bool {
    text.hasPrefix("[") && text.hasSuffix("]") && text.utf8.count > 2
      && text.utf8.dropFirst().dropLast().allSatisfy { "0123456789abcdef:.".utf8.contains($0) }
  }

  /// The host, and the port behind a colon if there is one.
  package var description: String { host + (port.map { ":\($0)" } ?? "") }
}
