/// The notice that another device of the account has read messages.
public struct MsgrReading: Hashable, Sendable, Decodable {
  /// The user whose messages were read.
  public let name: String
  /// The last message that was read.
  public let last: MsgrMessageID

  private enum CodingKeys: String, CodingKey {
    case name = "With"
    case last = "Id"
  }
}
