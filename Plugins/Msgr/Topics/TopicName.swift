internal import Formats
internal import ServiceKit
internal import Storage

/// The name of a topic: 1 to 64 of `[-_A-Za-z0-9]`, compared as bytes.
struct TopicName: Hashable, Sendable, StoredText {
  static let longest = 64
  /// The beginning of a topic's name among the senders of messages.
  static let senderPrefix = "#"

  let text: String

  /// Checks a name; nil for what can't be a topic, reserved names included.
  init?(_ text: String) {
    guard Self.isWellFormed(text), !ReservedTopics.contains(text) else { return nil }
    self.text = text
  }

  init(stored text: String) { self.text = text }

  /// Returns whether a text has the form of a name, be it reserved or not.
  static func isWellFormed(_ text: String) -> Bool {
    (1...longest).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        byte.isLetterOrDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
      }
  }

  /// The sender of the topic's messages in inboxes.
  var sender: UserName { UserName(stored: "\(Self.senderPrefix)\(text)") }

  /// True for the form that UnifiedPush's topics have: `up` and 12 letters and digits.
  var isUnifiedPush: Bool {
    text.utf8.count == 14 && text.hasPrefix("up")
      && text.utf8.dropFirst(2).allSatisfy(\.isLetterOrDigit)
  }
}

/// The names that topics can't have, whatever runs, so that no name changes its meaning later.
enum ReservedTopics {
  /// Those of Gotify.
  static let gotify: Set<String> = [
    "application", "client", "current", "user", "health", "plugin", "gotifyinfo", "auth", "image",
  ]
  /// Those of ntfy.
  static let ntfy: Set<String> = [
    "docs", "static", "file", "app", "account", "settings", "signup", "v1", "topics", "_matrix",
  ]
  static let names = ServiceRoutes.firstSegments.union(gotify).union(ntfy)

  /// Returns whether a name is reserved; the addresses of contracts are, too.
  static func contains(_ name: String) -> Bool { names.contains(name) || isContract(name) }

  private static func isContract(_ name: String) -> Bool {
    name.utf8.count == 42 && name.hasPrefix("0x")
      && name.unicodeScalars.dropFirst(2).allSatisfy(\.properties.isASCIIHexDigit)
  }
}
