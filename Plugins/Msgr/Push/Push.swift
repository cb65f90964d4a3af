internal import MsgrProtocol
internal import Time

/// A message on its way to a device's push service: a row of the outbox.
struct Push: Sendable, Hashable, Identifiable {
  let id: Int64
  let device: DeviceID
  /// The UUID that the push service knows the push by, the same at each attempt.
  let apnsID: String
  let message: MessageID
  let sender: UserName
  let text: MessageText
  let isAddRequest: Bool
  /// The number of unread messages, this one included.
  let badge: Int
  let expires: Timestamp
  /// The number of attempts, this one included.
  let attempts: Int
  /// The moment at which the message was stored.
  var created = Timestamp(milliseconds: 0)
  /// The way to a browser, or nil for a phone.
  var subscription: WebPushSubscription?
  /// True if the message is left out, as the push service takes no longer pushes.
  var isShort = false
  /// The fields that a published message has beside its text.
  var extras = Publication.Extras()

  /// The title of a notification. A published one is its author's word: it stands behind the author's name.
  var title: String { sender.text + (extras.title.map { ": \($0)" } ?? "") }
}
