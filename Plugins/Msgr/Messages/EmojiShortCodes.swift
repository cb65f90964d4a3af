internal import MsgrResources
internal import Platform

/// The emoji that tags stand for: the short codes of ntfy and GitHub.
enum EmojiShortCodes {
  /// Each line has an emoji and its codes, separated by blanks.
  private static let table: [String: String] = {
    var table: [String: String] = [:]
    for line in Resource(msgr_emoji_short_codes_txt()).text.split(separator: "\n") {
      let words = line.split(separator: " ")
      for code in words.dropFirst() { table[String(code)] = String(words[0]) }
    }
    return table
  }()

  /// Returns the emoji of those tags that are codes, in the order of the tags; empty without any.
  static func emoji(of tags: [String]?) -> String {
    (tags ?? []).compactMap { table[$0] }.joined(separator: " ")
  }
}
