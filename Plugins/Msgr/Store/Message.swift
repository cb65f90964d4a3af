internal import MsgrMessages
internal import Time

/// A message in its recipient's inbox.
struct Message: Hashable, Sendable {
  /// The identifier, which is also a position in the inbox.
  let id: MessageID
  /// The user who sent the message.
  let sender: UserName
  /// The text.
  let text: MessageText
  /// The moment at which the message was stored.
  let time: Timestamp
  /// Whether the message asks the recipient to become a friend.
  let isAddRequest: Bool
}

// The form that the inbox and the stream show.
extension Message: Encodable {
  private enum Key: String, CodingKey {
    case id = "Id"
    case userFrom = "UserFrom"
    case message = "Message"
    case time = "Time"
    case addRequest = "AddRequest"
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(id.text, forKey: .id)
    try container.encode(sender.text, forKey: .userFrom)
    try container.encode(text.text, forKey: .message)
    try container.encode(time.description, forKey: .time)
    if isAddRequest { try container.encode(true, forKey: .addRequest) }
  }
}
