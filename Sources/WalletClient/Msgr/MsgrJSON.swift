internal import FoundationEssentials

/// JSON as the protocol carries it.
enum MsgrJSON {
  /// Returns the fields of a request as a JSON object in UTF-8.
  static func object(_ fields: [String: String]) -> [UInt8] {
    // Texts are encoded without fail.
    (try? JSONEncoder().encode(fields)).map { Array($0) } ?? []
  }

  /// Returns the value in a response, or nil if the response can't be read as that.
  static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) -> Value? {
    try? JSONDecoder().decode(type, from: Data(bytes))
  }
}
