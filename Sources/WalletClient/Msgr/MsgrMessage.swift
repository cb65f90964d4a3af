public import FoundationEssentials

/// A message as it stands in its recipient's inbox, or a copy of one that the user has sent from another device.
public struct MsgrMessage: Hashable, Sendable {
  /// The message's identifier, the same in the inbox, on the stream, and in a push's payload (`Id`).
  public let id: MsgrMessageID
  /// The sender's name.
  public let sender: String
  /// The recipient's name, or nil where the recipient is this account: in the inbox, and on a stream but for own copies.
  public let recipient: String?
  /// The content.
  public let text: String
  /// The time at which the server took the message.
  public let time: Date
  /// True if the message asks the recipient to become a friend; ``MsgrSession/add(_:)`` with its sender agrees.
  public let isAddRequest: Bool
  /// The title of a published message.
  public let title: String?
  /// The priority of a published message, 0 to 10.
  public let priority: Int?
  /// The link of a published message: `https`, `http` or `mailto`.
  public let link: String?
  /// The name that ``MsgrSession/send(_:to:as:)`` gave an own message.
  public let clientID: String?
}

extension MsgrMessage: Decodable {
  private enum Key: String, CodingKey {
    case id = "Id"
    case sender = "UserFrom"
    case recipient = "UserTo"
    case text = "Message"
    case time = "Time"
    case isAddRequest = "AddRequest"
    case clientID = "ClientId"
    case title = "Title"
    case priority = "Priority"
    case link = "Link"
  }

  /// Reads a message as the server writes it.
  ///
  /// - Throws: `DecodingError` for anything else.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    id = try container.decode(MsgrMessageID.self, forKey: .id)
    sender = try container.decode(String.self, forKey: .sender)
    recipient = try container.decodeIfPresent(String.self, forKey: .recipient)
    text = try container.decode(String.self, forKey: .text)
    let time = try container.decode(String.self, forKey: .time)
    self.time = try Date(time, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    isAddRequest = try container.decodeIfPresent(Bool.self, forKey: .isAddRequest) ?? false
    clientID = try container.decodeIfPresent(String.self, forKey: .clientID)
    title = try container.decodeIfPresent(String.self, forKey: .title)
    priority = try container.decodeIfPresent(Int.self, forKey: .priority)
    link = try container.decodeIfPresent(String.self, forKey: .link)
  }
}
