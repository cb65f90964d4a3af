internal import Formats
internal import Platform

/// The rules of RFC 3986 and RFC 3339 that a message's ABNF refers to.
enum Syntax {
  private static let unreserved = Set("-._~".utf8)
  private static let subDelimiters = Set("!$&'()*+,;=".utf8)

  static func isAlphanumeric(_ text: Substring) -> Bool {
    text.utf8.allSatisfy { isDigit($0) || isLetter($0) }
  }

  static func isNumber(_ text: Substring) -> Bool { !text.isEmpty && text.utf8.allSatisfy(isDigit) }

  /// Returns whether a text has only reserved and unreserved characters and blanks.
  static func isStatement(_ text: Substring) -> Bool {
    isMade(text, of: " :/?#[]@", escapes: false)
  }

  static func isSegment(_ text: Substring) -> Bool { isMade(text, of: ":@") }

  static func isScheme(_ text: Substring) -> Bool {
    text.utf8.first.map(isLetter) == true
      && text.utf8.allSatisfy { isDigit($0) || isLetter($0) || "+-.".utf8.contains($0) }
  }

  static func isURI(_ text: Substring) -> Bool {
    guard let colon = text.firstIndex(of: ":"), isScheme(text[..<colon]) else { return false }
    let parts = text[text.index(after: colon)...]
      .split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 1 || isMade(parts[1], of: ":@/?") else { return false }
    let path = parts[0].prefix { $0 != "?" }
    guard isMade(parts[0].dropFirst(path.count), of: ":@/?") else { return false }
    guard path.hasPrefix("//") else { return isMade(path, of: ":@/") }
    let authority = path.dropFirst(2).prefix { $0 != "/" }
    return isAuthority(authority) && isMade(path.dropFirst(2 + authority.count), of: ":@/")
  }

  /// Returns whether a text is a host with what may stand around it.
  static func isAuthority(_ text: Substring) -> Bool {
    let at = text.lastIndex(of: "@")
    var host = at.map { text[text.index(after: $0)...] } ?? text
    guard at.map({ isMade(text[..<$0], of: ":") }) ?? true else { return false }
    if let colon = host.lastIndex(of: ":"),
      host[host.index(after: colon)...].utf8.allSatisfy(isDigit)
    {
      host = host[..<colon]
    }
    guard host.hasPrefix("["), host.hasSuffix("]") else { return isMade(host, of: "") }
    let literal = host.dropFirst().dropLast()
    guard literal.hasPrefix("v") || literal.hasPrefix("V") else {
      return literal.contains(":") && IPAddress(String(literal)) != nil
    }
    let version = literal.dropFirst().prefix { $0 != "." }
    let rest = literal.dropFirst(version.count + 2)
    return !version.isEmpty && version.allSatisfy(\.isHexDigit) && !rest.isEmpty
      && isMade(rest, of: ":", escapes: false)
  }

  /// Reads a date and time as RFC 3339 writes it.
  static func moment(_ text: Substring) -> Timestamp? {
    // XML Schema has a day's hour 24, no zone, and blanks, too.
    guard text.hasSuffix("Z") || text.dropLast(5).last.map("+-".contains) == true,
      text.dropFirst(11).prefix(2) != "24", text.count >= 20, !text.contains(" ")
    else { return nil }
    return Timestamp(dateTime: String(text))
  }

  /// Returns whether a text has only unreserved characters, delimiters within parts, escapes, and some others.
  private static func isMade(_ text: Substring, of others: String, escapes: Bool = true) -> Bool {
    var rest = text.utf8
    while let byte = rest.popFirst() {
      if isDigit(byte) || isLetter(byte) || unreserved.contains(byte) { continue }
      if subDelimiters.contains(byte) || others.utf8.contains(byte) { continue }
      guard escapes, byte == UInt8(ascii: "%"), rest.count >= 2,
        rest.prefix(2).allSatisfy({ Character(UnicodeScalar($0)).isHexDigit })
      else { return false }
      rest.removeFirst(2)
    }
    return true
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }
}
