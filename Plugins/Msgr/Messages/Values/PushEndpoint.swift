internal import Wire

/// The address at which a push service takes pushes for one subscription (RFC 8030 section 2): a user's word, so an `https`
/// URL and nothing more.
package struct PushEndpoint: Hashable, Sendable {
  /// The longest address, in bytes.
  package static let longest = 1024
  private static let scheme = "https://"
  private static let ownPort = ":443"

  /// The URL as it was given.
  package let text: String
  /// Host and port in lower case, without the scheme's own port.
  package let authority: String

  /// Checks an address.
  ///
  /// - Parameters:
  ///   - text: the URL.
  ///   - allowed: the authorities that may have another port than 443.
  /// - Throws: ``FieldError`` that says which rule it breaks.
  package init(_ text: String, allowed: Set<String>) throws(FieldError) {
    guard text.utf8.count <= Self.longest else {
      throw FieldError(.endpoint, "is longer than \(Self.longest) bytes")
    }
    guard let authority = Self.authority(of: text) else {
      throw FieldError(.endpoint, "is no https URL without user information and fragment")
    }
    guard !Self.hasPort(authority) || allowed.contains(authority) else {
      throw FieldError(.endpoint, "has another port than 443, which the operator has not allowed")
    }
    self.text = text
    self.authority = authority
  }

  /// Takes a stored address, which was checked before it was stored.
  package init?(stored text: String) {
    guard let authority = Self.authority(of: text) else { return nil }
    self.text = text
    self.authority = authority
  }

  /// The origin, which names the push service.
  package var origin: String { Self.scheme + authority }

  /// Reads host and port as an operator writes them: `push.lan:8443`, or `[2001:db8::1]`.
  ///
  /// - Parameter text: host and port.
  /// - Returns: the form in which ``authority`` has them, or nil for anything else.
  package static func authority(written text: String) -> String? {
    let lower = text.lowercased()
    guard isAuthority(lower) else { return nil }
    return lower.hasSuffix(ownPort) ? String(lower.dropLast(ownPort.count)) : lower
  }

  private static func authority(of url: String) -> String? {
    guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") }),
      !url.contains("#"), url.prefix(scheme.count).lowercased() == scheme
    else { return nil }
    return authority(written: String(url.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" }))
  }

  /// Whether a text is a name or an address, with a port or without.
  private static func isAuthority(_ text: String) -> Bool {
    let host = host(of: text)
    let rest = text.dropFirst(host.count)
    let isName = host.utf8.allSatisfy {
      $0.isLetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
    }
    let isVersion6 =
      host.hasPrefix("[") && host.hasSuffix("]")
      && host.utf8.dropFirst().dropLast().allSatisfy { "0123456789abcdef:.".utf8.contains($0) }
    guard !host.isEmpty, isName || isVersion6 else { return false }
    guard !rest.isEmpty else { return true }
    let digits = rest.dropFirst()
    return rest.first == ":" && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
      && UInt16(digits).map { $0 > 0 } ?? false
  }

  private static func host(of text: String) -> Substring {
    guard text.hasPrefix("["), let end = text.firstIndex(of: "]") else {
      return text.prefix { $0 != ":" }
    }
    return text[...end]
  }

  private static func hasPort(_ authority: String) -> Bool {
    host(of: authority).count < authority.count
  }
}
