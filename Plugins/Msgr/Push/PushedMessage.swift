internal import Platform
internal import Push
internal import Storage

/// A message as the outbox has it: it is pushed even if the inbox has dropped it.
struct PushedMessage: Sendable {
  let id: MessageID
  let sender: UserName
  let text: MessageText
  let created: Timestamp
  let isAddRequest: Bool
  /// The number of unread messages, this one included.
  let badge: Int
  /// True if the device is a browser that shows the notification by itself.
  let isDeclarative: Bool
  /// The fields that a published message has beside its text.
  let extras: Publication.Extras

  /// The title of a notification. A published one is its author's word: it stands behind the author's name.
  var title: String { sender.text + (extras.title.map { ": \($0)" } ?? "") }
}

extension PushedMessage {
  /// Makes the copy of a message.
  init(_ message: Message, badge: Int, isDeclarative: Bool) {
    self.init(
      id: message.id, sender: message.sender, text: message.text, created: message.time,
      isAddRequest: message.isAddRequest, badge: badge, isDeclarative: isDeclarative,
      extras: message.extras)
  }

  /// The content of a push, in the form that the twelfth step for the store describes.
  var content: [UInt8] {
    let priority = extras.priority.map { "\($0.rawValue)" } ?? "-"
    let head = [
      "\(id.rawValue)", "\(badge)", isAddRequest ? "1" : "0", priority, isDeclarative ? "1" : "0",
    ].joined(separator: " ")
    return Array(
      "\(head)\n\(sender.text)\n\(extras.link?.text ?? "")\n\(extras.title ?? "")\n\(text.text)"
        .utf8)
  }

  /// Reads the content of a push; nil if it is none of this service's.
  init?(_ push: Push) {
    let lines = push.content.split(
      separator: UInt8(ascii: "\n"), maxSplits: 4, omittingEmptySubsequences: false
    ).map { String(decoding: $0, as: UTF8.self) }
    let head = lines[0].split(separator: " ")
    guard lines.count == 5, head.count == 5, let id = Int64(head[0]), let badge = Int(head[1])
    else { return nil }
    self.init(
      id: MessageID(rawValue: id), sender: UserName(stored: lines[1]),
      text: MessageText(stored: lines[4]), created: push.created, isAddRequest: head[2] == "1",
      badge: badge, isDeclarative: head[4] == "1",
      extras: Publication.Extras(
        title: lines[3].isEmpty ? nil : lines[3],
        priority: Int(head[3]).flatMap(PublishedPriority.init(rawValue:)),
        link: lines[2].isEmpty ? nil : PublishedLink(stored: lines[2])))
  }
}

/// Makes the payloads of pushes of messages, and unbinds devices that are gone.
struct MsgrPushes: PushSource {
  let store: MsgrStore
  /// The page that a tap opens if the message has no link.
  let page: String

  func payload(of push: Push) -> PushPayload? {
    guard let message = PushedMessage(push) else { return nil }
    return switch push.address.kind {
    case .apns, .apnsSandbox: .apns(APNsPayload.json(of: message))
    case .fcm: .fcm(data: FCMMessage.data(of: message))
    case .web: .web(WebPushPayload.json(of: message, isShort: push.isShort, page: page))
    }
  }

  func end(
    _ push: Push, boundBefore moment: Timestamp?, _ transaction: borrowing Transaction
  ) throws {
    let device = DeviceID(stored: String(decoding: push.device, as: UTF8.self))
    try store.deliveries.lock(device, transaction)
    guard push.address.kind != .web else {
      return try store.unsubscribe(device, from: push.address.text, transaction)
    }
    // The other pushes to the device go with it.
    try transaction.execute(
      "DELETE FROM msgr_devices WHERE device_id = ? AND bound_at < ?", device,
      moment ?? Timestamp(milliseconds: .max))
  }

  func labels(of push: Push) -> (id: String, device: String) {
    (PushedMessage(push)?.id.text ?? push.pushID, String(decoding: push.device, as: UTF8.self))
  }
}
