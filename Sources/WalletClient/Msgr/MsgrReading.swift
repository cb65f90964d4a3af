/// The notice that another device of the account has read messages.
public struct MsgrReading: Hashable, Sendable {
  /// The user whose messages were read.
  public let name: String
  /// The last message that was read.
  public let last: MsgrMessageID
}

extension MsgrReading: Decodable {
  private enum Key: String, CodingKey {
    case name = "With"
    case last = "Id"
  }

  /// Reads a notice as the server writes it.
  ///
  /// - Throws: `DecodingError` for anything else.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    guard let last = MsgrMessageID(try container.decode(String.self, forKey: .last)) else {
      throw DecodingError.dataCorruptedError(
        forKey: .last, in: container, debugDescription: "16 hexadecimal digits are expected")
    }
    self.last = last
    name = try container.decode(String.self, forKey: .name)
  }
}
