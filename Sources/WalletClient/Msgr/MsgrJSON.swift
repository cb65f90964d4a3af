internal import FoundationEssentials

/// JSON as the protocol carries it.
enum MsgrJSON {
  /// Returns a value of texts and numbers as JSON in UTF-8.
  static func encode(_ value: some Encodable) -> [UInt8] {
    // Texts are encoded without fail.
    (try? JSONEncoder().encode(value)).map { Array($0) } ?? []
  }

  /// Returns the value in a response, or nil if the response can't be read as that.
  static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) -> Value? {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
      let text = try decoder.singleValueContainer().decode(String.self)
      return try Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
    return try? decoder.decode(type, from: Data(bytes))
  }

  /// Returns the value in a response that must have it.
  ///
  /// - Throws: `.unexpected`.
  static func reply<Value: Decodable>(
    _ type: Value.Type, _ bytes: [UInt8]
  ) throws(MsgrError) -> Value {
    guard let value = decode(type, bytes) else { throw .unexpected(status: 200) }
    return value
  }
}

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
