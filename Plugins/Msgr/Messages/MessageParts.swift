internal import Formats

/// What a message of a publisher or a topic may have beside its text. People's messages have none of it.
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
  /// What Gotify's clients have sent beside the rest, given back as it came.
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
