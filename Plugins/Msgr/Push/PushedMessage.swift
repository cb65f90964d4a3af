internal import Formats
internal import FoundationEssentials
internal import Platform
internal import Push
internal import Storage

/// A message as the outbox has it: it is pushed even if the inbox has dropped it.
struct PushedMessage: Sendable {
  let id: MsgrMessageID
  let sender: UserName
  let text: MessageText
  let created: Timestamp
  let isAddRequest: Bool
  /// The number of unread messages, this one included.
  let badge: Int
  /// True if the device is a browser that shows the notification by itself.
  let isDeclarative: Bool
  /// The message's optional parts beside its text.
  let parts: MessageParts

  /// The title of a notification. A published one is its author's word: it stands behind the author's name.
  ///
  /// Tags that are short codes of emoji are shown as these, before the title, or before the text where there is none.
  var title: String {
    guard let title = parts.title else { return sender.text }
    return "\(sender.text): \(emojiPrefix)\(title)"
  }

  /// The text of a notification.
  var alertText: String { alert(text.text) }

  /// Returns a text, or the beginning of one, as a notification shows it.
  func alert(_ text: String) -> String { parts.title == nil ? emojiPrefix + text : text }

  /// The emoji of the tags, separated by blanks; empty without any.
  var emoji: String { EmojiShortCodes.emoji(of: parts.tags) }

  /// The mark by which a notification replaces an earlier one: of the same sequence of a topic, or else of none.
  var mark: String {
    guard let topic = parts.topic, let sequence = parts.sequence else { return id.text }
    return "#\(topic)/\(sequence)"
  }

  private var emojiPrefix: String { emoji.isEmpty ? "" : "\(emoji) " }
}

extension PushedMessage {
  /// The highest badge that is shown, which takes all digits that are set aside for a badge.
  static let highestBadge = 9_999_999

  init(_ message: Message, badge: Int, isDeclarative: Bool) {
    self.init(
      id: message.id, sender: message.sender, text: message.text, created: message.time,
      isAddRequest: message.isAddRequest, badge: badge, isDeclarative: isDeclarative,
      parts: message.parts)
  }

  /// The content of a push: JSON. An identifier is text there, as no double has all its digits.
  var content: [UInt8] {
    // Not by way of a `JSONValue`, as it is made for each message.
    JSONWriter.object { object in
      object["Id"] = id.text
      object["Badge"] = min(badge, Self.highestBadge)
      object["UserFrom"] = sender.text
      object["Message"] = text.text
      if isAddRequest { object["AddRequest"] = true }
      if isDeclarative { object["Declarative"] = true }
      if let json = parts.json { object.add("Parts", json: json) }
    }
  }

  /// Reads the content of a push; nil if it is none of this service's.
  init?(_ push: LeasedPush) {
    guard let content = JSONValue(parsing: push.content),
      let id = content["Id"]?.string.flatMap({ try? MsgrMessageID($0, in: .id) }),
      let badge = content["Badge"]?.integer, let sender = content["UserFrom"]?.string,
      let text = content["Message"]?.string
    else { return nil }
    self.init(
      id: id, sender: UserName(stored: sender), text: MessageText(stored: text),
      created: push.created, isAddRequest: content["AddRequest"]?.bool ?? false,
      badge: Int(badge), isDeclarative: content["Declarative"]?.bool ?? false,
      parts: MessageParts(stored: content["Parts"]?.json, topic: nil))
  }
}

extension MessageParts {
  /// The parts as JSON; nil if there are none.
  var json: [UInt8]? { isEmpty ? nil : try? JSONText.of(self) }

  /// The parts as members of JSON, by their names.
  var members: [JSONValue.Member] { json.flatMap { JSONValue(parsing: $0)?.members } ?? [] }

  /// Reads the column of the store; what can't be read is left out.
  init(stored json: String?, topic: String?) {
    let parts = json.flatMap { try? JSONDecoder().decode(Self.self, from: Data($0.utf8)) }
    self = parts ?? MessageParts()
    if let topic { self.topic = topic }
  }
}

/// Makes the payloads of pushes of messages, and unbinds devices that are gone.
struct MsgrPushes: PushSource {
  let store: MsgrStore
  /// The page that a tap opens if the message has no link.
  let page: String
  /// True if Apple lets the app send critical alerts.
  var mayBeCritical = false

  func payload(of push: LeasedPush) -> PushPayload? {
    guard let message = PushedMessage(push) else { return nil }
    return switch push.address.kind {
    case .apns, .apnsSandbox:
      .apns(
        APNsPayload.json(of: message, mayBeCritical: mayBeCritical),
        priority: message.parts.isLow ? 5 : 10)
    case .fcm: .fcm(data: FCMMessage.data(of: message))
    case .web: .web(WebPushPayload.json(of: message, isShort: push.isShort, page: page))
    }
  }

  func end(
    _ push: LeasedPush, boundBefore moment: Timestamp?, _ transaction: borrowing Transaction
  ) throws {
    let device = DeviceID(stored: String(decoding: push.device, as: UTF8.self))
    try store.strategy.lock(device, transaction)
    guard push.address.kind != .web else {
      return try store.unsubscribe(device, from: push.address.text, transaction)
    }
    // The other pushes to the device go with it.
    try transaction.execute(
      "DELETE FROM msgr_devices WHERE device_id = ? AND bound_at < ?", device,
      moment ?? Timestamp(milliseconds: .max))
  }

  func labels(of push: LeasedPush) -> (id: String, device: String) {
    let id = JSONValue(parsing: push.content)?["Id"]?.string
    return (id ?? push.pushID, String(decoding: push.device, as: UTF8.self))
  }
}
