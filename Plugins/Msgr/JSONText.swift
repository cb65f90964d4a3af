internal import FoundationEssentials

/// JSON as the service writes it.
enum JSONText {
  /// A value as JSON in UTF-8, its keys sorted.
  static func of(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value))
  }
}
