package import Formats

/// The address at which a push service takes pushes for one subscription (RFC 8030 section 2): a user's word, so an `https`
/// URL and nothing more.
package struct PushEndpoint: Hashable, Sendable {
  /// The longest address, in bytes.
  package static let longest = 1024
  /// The port of `https`.
  static let ownPort: UInt16 = 443

  /// The URL as it was given.
  package let text: String
  /// Host and port, without the scheme's own.
  package let authority: HostAndPort

  /// Checks an address.
  ///
  /// - Parameters:
  ///   - text: the URL.
  ///   - allowed: the hosts that may have another port than 443.
  /// - Throws: ``PushAddressError`` that says which rule it breaks.
  package init(_ text: String, allowed: Set<HostAndPort>) throws(PushAddressError) {
    guard text.utf8.count <= Self.longest else {
      throw PushAddressError(description: "is longer than \(Self.longest) bytes")
    }
    guard let endpoint = PushEndpoint(stored: text) else {
      throw PushAddressError(description: "is no https URL without user information and fragment")
    }
    guard endpoint.authority.port == nil || allowed.contains(endpoint.authority) else {
      throw PushAddressError(
        description: "has another port than 443, which the operator has not allowed")
    }
    self = endpoint
  }

  /// Takes a stored address, which was checked before it was stored.
  package init?(stored text: String) {
    guard let url = WebURL(text, schemes: ["https"]) else { return nil }
    self.text = text
    authority = HostAndPort(url, ownPort: Self.ownPort)
  }

  /// The origin, which names the push service.
  package var origin: String { "https://\(authority)" }
}
