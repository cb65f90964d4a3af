public import ApptimistProtocol
public import Cryptography
internal import FoundationEssentials

/// The one JSON text of a value, which devices seal and sign.
package enum CanonicalJSON {
  /// Returns a value as JSON in UTF-8: keys sorted, no blanks.
  package static func encode(_ value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // It fails for numbers that JSON doesn't have, and none is made here.
    guard let json = try? encoder.encode(value) else { return [] }
    return Array(json)
  }

  /// Returns the value that a JSON text describes, or nil if it is not of the type.
  package static func decode<Value: Decodable>(_ type: Value.Type, _ json: [UInt8]) -> Value? {
    try? JSONDecoder().decode(type, from: Data(json))
  }
}

/// Values as JSON strings of hexadecimal digits, in lower case only: each value has one text.
extension FixedBytes where Self: Codable {
  /// Reads the digits.
  ///
  /// - Throws: `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let json = try decoder.singleValueContainer()
    let text = try json.decode(String.self)
    guard let value = Self(hex: text), text == value.hex else {
      throw DecodingError.dataCorruptedError(in: json, debugDescription: "no lower-case digits")
    }
    self = value
  }

  /// Writes the digits.
  ///
  /// - Throws: the encoder's error.
  public func encode(to encoder: any Encoder) throws { try hex.encode(to: encoder) }
}

extension AuthenticationPublicKey: Codable {}
extension Digest256: Codable {}
extension EncryptionPublicKey: Codable {}
extension MessageID: Codable {}
extension Signature: Codable {}
extension Version2.DeviceID: Codable {}
