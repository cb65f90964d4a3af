internal import FoundationEssentials

/// The JSON that the service writes.
enum JSONText {
  /// Encodes a value as JSON in UTF-8, with sorted keys.
  static func of(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value))
  }
}

extension Delivery {
  /// The response to a message that was sent: the most frequent one, which needs no encoder.
  var json: [UInt8] {
    Array(#"{"Id":"\#(id.text)"\#(own.map { #","Own":"\#($0.text)""# } ?? "")}"#.utf8)
  }
}
