internal import Formats

/// A link that a publisher gives: nothing that a browser would run, or that names a file of the device.
struct MessageLink: Hashable, Sendable {
  /// The longest link, in bytes.
  static let longest = 2048
  /// The schemes of the web.
  static let webSchemes: Set<String> = ["https", "http"]
  private static let refused: Set<String> = [
    "javascript", "data", "file", "vbscript", "blob", "about", "content", "intent",
  ]
  private static let schemeLengths = 2...32

  /// The link as it was given.
  let text: String

  /// Checks a link.
  ///
  /// - Parameter schemes: the schemes that are accepted; nil for all but those that are dangerous.
  /// - Returns: nil for anything that isn't taken.
  init?(_ text: String, schemes: Set<String>? = nil) {
    let text = text.trimmingBlanks
    guard text.utf8.count <= Self.longest, let colon = text.firstIndex(of: ":"),
      text.unicodeScalars.allSatisfy({ !$0.properties.isWhitespace && !$0.isControl })
    else { return nil }
    let scheme = text[..<colon].lowercased()
    guard Self.isScheme(scheme), !Self.refused.contains(scheme),
      schemes?.contains(scheme) ?? true
    else { return nil }
    let rest = text[text.index(after: colon)...]
    if Self.webSchemes.contains(scheme) {
      let host = rest.dropFirst(2).prefix { !"/?#".contains($0) }
      guard rest.hasPrefix("//"), !host.isEmpty else { return nil }
    }
    guard !rest.isEmpty else { return nil }
    self.text = text
  }

  private static func isScheme(_ text: String) -> Bool {
    guard schemeLengths.contains(text.utf8.count), let first = text.utf8.first,
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first)
    else { return false }
    return text.utf8.allSatisfy { $0.isLetterOrDigit || "+.-".utf8.contains($0) }
  }
}
