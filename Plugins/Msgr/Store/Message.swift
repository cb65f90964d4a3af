internal import Platform

/// A message in its recipient's inbox, or its sender's own copy.
struct Message: Hashable, Sendable {
  /// The identifier, which is also a position in the inbox.
  let id: MessageID
  /// The user who sent the message.
  let sender: UserName
  /// The user whom the message was sent to, or nil where that is plain.
  var recipient: UserName?
  /// The text.
  let text: MessageText
  /// The moment at which the message was stored.
  let time: Timestamp
  /// True if the message asks the recipient to become a friend.
  let isAddRequest: Bool
  /// The fields that a published message has beside its text.
  var extras = Publication.Extras()
  /// The client's name for an own message.
  var clientID: ClientID?
  /// The device that has sent an own message, if it came by a token.
  var origin: DeviceID?
}

extension Message {
  /// Makes the own copy of a message that a user sends.
  init(ownCopy draft: Draft, of sender: Caller, id: MessageID, time: Timestamp) {
    self.init(
      id: id, sender: sender.name, recipient: draft.recipient, text: draft.text, time: time,
      isAddRequest: false, clientID: draft.clientID, origin: sender.device)
  }
}

// The form that the inbox, the history and the stream show.
extension Message: Encodable {
  private enum Key: String, CodingKey {
    case id = "Id"
    case userFrom = "UserFrom"
    case userTo = "UserTo"
    case message = "Message"
    case time = "Time"
    case addRequest = "AddRequest"
    case clientID = "ClientId"
    case title = "Title"
    case priority = "Priority"
    case link = "Link"
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(id.text, forKey: .id)
    try container.encode(sender.text, forKey: .userFrom)
    try container.encodeIfPresent(recipient?.text, forKey: .userTo)
    try container.encode(text.text, forKey: .message)
    try container.encode(time.description, forKey: .time)
    if isAddRequest { try container.encode(true, forKey: .addRequest) }
    try container.encodeIfPresent(clientID?.text, forKey: .clientID)
    try container.encodeIfPresent(extras.title, forKey: .title)
    try container.encodeIfPresent(extras.priority?.rawValue, forKey: .priority)
    try container.encodeIfPresent(extras.link?.text, forKey: .link)
  }
}
