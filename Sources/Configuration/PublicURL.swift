internal import Formats

/// The URL at which clients reach the server: absolute, `http` or `https`, without user, query and fragment. It may have
/// a path, whose trailing slashes are cut.
package struct PublicURL: Sendable, Hashable, CustomStringConvertible {
  /// True if the scheme is `https`.
  package let isSecure: Bool
  /// The host, with the port if one is given.
  package let authority: String
  /// The path, which is empty or has a slash in front and none at its end.
  package let path: String

  /// The URL without a slash at its end.
  package var description: String { (isSecure ? "https://" : "http://") + authority + path }

  /// Parses a URL of this kind (RFC 3986, in ASCII). Anything else gives nil.
  package init?(_ text: String) {
    let scheme = text.hasPrefix("https://") ? "https://" : "http://"
    guard text.hasPrefix(scheme) else { return nil }
    let rest = text.dropFirst(scheme.count)
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    var path = rest[slash...]
    while path.hasSuffix("/") { path.removeLast() }
    guard Self.isAuthority(rest[..<slash]), Self.isPath(path) else { return nil }
    isSecure = scheme == "https://"
    authority = rest[..<slash].lowercased()
    self.path = String(path)
  }

  private static func isAuthority(_ text: Substring) -> Bool {
    var host = text
    if let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") {
      let port = Int(digits: text[text.index(after: colon)...])
      guard let port, (1...65535).contains(port) else { return false }
      host = text[..<colon]
    }
    if host.hasPrefix("["), host.hasSuffix("]") {
      return host.dropFirst().contains(":") && IPAddress(String(host.dropFirst().dropLast())) != nil
    }
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    return host.utf8.count <= 253
      && labels.allSatisfy { label in
        (1...63).contains(label.utf8.count)
          && label.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") }
          && !label.hasPrefix("-") && !label.hasSuffix("-")
      }
  }

  /// Returns whether a text consists of segments of `pchar` (RFC 3986 section 3.3).
  private static func isPath(_ text: Substring) -> Bool {
    var escapeDigits = 0
    for byte in text.utf8 {
      if escapeDigits > 0 {
        guard Character(UnicodeScalar(byte)).isHexDigit else { return false }
        escapeDigits -= 1
      } else if byte == UInt8(ascii: "%") {
        escapeDigits = 2
      } else if !byte.isLetterOrDigit && !"-._~!$&'()*+,;=:@/".utf8.contains(byte) {
        return false
      }
    }
    return escapeDigits == 0
  }
}
