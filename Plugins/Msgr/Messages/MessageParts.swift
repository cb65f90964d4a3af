internal import Formats
internal import MsgrResources
internal import Platform

/// The parts that a message of a publisher or a topic may have beside its text. People's messages have none of them.
///
/// It is one column of the store, and a part of a push's content: JSON with the names that Msgr's responses have. Everything
/// here was checked when it was published.
struct MessageParts: Hashable, Sendable {
  /// At most ``Publication/longestTitle`` bytes on one line.
  var title: String?
  /// 0 to 10, as Gotify counts.
  var priority: Int?
  var tags: [String]?
  /// The link that a tap opens.
  var link: String?
  /// The address of a picture.
  var icon: String?
  var actions: [MessageAction]?
  /// True if the text is Markdown.
  var isMarkdown: Bool?
  var attachment: MessageAttachment?
  /// The name under which later messages of the topic replace this one.
  var sequence: String?
  /// The extras of Gotify's clients, given back as they came.
  var extras: JSONValue?
  /// The topic that a message came by.
  var topic: String?

  /// True if there is nothing.
  var isEmpty: Bool { self == MessageParts() }

  /// True if the message may wait until the device is awake.
  var isLow: Bool { priority.map { $0 < 4 } ?? false }
}

extension MessageParts: Codable {
  private enum CodingKeys: String, CodingKey {
    case title = "Title"
    case priority = "Priority"
    case tags = "Tags"
    case link = "Link"
    case icon = "Icon"
    case actions = "Actions"
    case isMarkdown = "Markdown"
    case attachment = "Attachment"
    case sequence = "Sequence"
    case extras = "Extras"
    case topic = "Topic"
  }
}

/// A file beside a message, here or elsewhere.
struct MessageAttachment: Hashable, Sendable, Codable {
  /// The file's name, without folders.
  let name: String
  /// The media type, without parameters.
  var type: String?
  /// The length in bytes.
  var size: Int?
  /// The moment at which the file goes, in seconds since 1970; nil for a file elsewhere.
  var expires: Int64?
  let url: String

  private enum CodingKeys: String, CodingKey {
    case name = "Name"
    case type = "Type"
    case size = "Size"
    case expires = "Expires"
    case url = "Url"
  }
}

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
