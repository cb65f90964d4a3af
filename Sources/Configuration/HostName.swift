/// A host without a port, as in the `Host` header: a name in lower case, or an IPv6 address in brackets.
package struct HostName: Sendable, Hashable, CustomStringConvertible {
  /// The host as text.
  package let description: String

  /// Parses a host.
  ///
  /// - Parameter text: a name in any case, an IPv4 address, or an IPv6 address in brackets. Anything else gives nil.
  package init?(_ text: String) {
    guard let url = PublicURL("http://\(text)"), url.path.isEmpty, !text.hasSuffix("/") else {
      return nil
    }
    let hasPort = url.authority.split(separator: "]").last?.contains(":") == true
    guard !hasPort || url.authority.hasSuffix("]") else { return nil }
    description = url.authority
  }
}
