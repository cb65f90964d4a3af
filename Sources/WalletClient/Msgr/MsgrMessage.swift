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
  public var isAddRequest: Bool { addRequest ?? false }
  private let addRequest: Bool?
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
  private enum CodingKeys: String, CodingKey {
    case id = "Id"
    case sender = "UserFrom"
    case recipient = "UserTo"
    case text = "Message"
    case time = "Time"
    case addRequest = "AddRequest"
    case clientID = "ClientId"
    case title = "Title"
    case priority = "Priority"
    case link = "Link"
  }
}
