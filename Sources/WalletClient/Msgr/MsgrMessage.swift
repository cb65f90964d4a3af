public import FoundationEssentials

/// A message as it stands in its recipient's inbox.
public struct MsgrMessage: Hashable, Sendable {
  /// The message's identifier, the same in the inbox, on the stream, and in a push's payload (`Id`).
  public let id: MsgrMessageID
  /// The sender's name.
  public let sender: String
  /// The content.
  public let text: String
  /// The time at which the server took the message.
  public let time: Date
  /// Whether the message asks the recipient to become a friend; ``MsgrSession/add(_:)`` with its sender agrees.
  public let isAddRequest: Bool
}

extension MsgrMessage: Decodable {
  private enum Key: String, CodingKey {
    case id = "Id"
    case sender = "UserFrom"
    case text = "Message"
    case time = "Time"
    case isAddRequest = "AddRequest"
  }

  /// Reads a message as the server writes it.
  ///
  /// - Throws: `DecodingError` for anything else.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    guard let id = MsgrMessageID(try container.decode(String.self, forKey: .id)) else {
      throw DecodingError.dataCorruptedError(
        forKey: .id, in: container, debugDescription: "16 hexadecimal digits are expected")
    }
    self.id = id
    sender = try container.decode(String.self, forKey: .sender)
    text = try container.decode(String.self, forKey: .text)
    let time = try container.decode(String.self, forKey: .time)
    self.time = try Date(
      time, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    isAddRequest = try container.decodeIfPresent(Bool.self, forKey: .isAddRequest) ?? false
  }
}
