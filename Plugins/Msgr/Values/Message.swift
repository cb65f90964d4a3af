internal import Observability
internal import Time

/// A message as it stands in its recipient's inbox.
struct Message: Hashable, Sendable {
  let id: MessageID
  let sender: UserName
  let text: MessageText
  let time: Timestamp
  /// Whether it asks the recipient to become a friend.
  let isAddRequest: Bool
}

// How the inbox and the stream show it.
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
