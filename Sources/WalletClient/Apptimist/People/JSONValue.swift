public import ApptimistProtocol
public import Cryptography
internal import FoundationEssentials

/// A value of JSON (RFC 8259), whatever it means.
public enum JSONValue: Sendable, Hashable, Codable {
  /// A string.
  case text(String)
  /// A number.
  case number(Double)
  /// `true` or `false`.
  case truth(Bool)
  /// An array.
  case list([JSONValue])
  /// An object.
  case object([String: JSONValue])
  /// `null`.
  case null

  /// Reads a value.
  ///
  /// - Throws: `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let json = try decoder.singleValueContainer()
    self =
      (try? .text(json.decode(String.self))) ?? (try? .number(json.decode(Double.self)))
      ?? (try? .truth(json.decode(Bool.self))) ?? (try? .list(json.decode([JSONValue].self)))
      ?? (try? .object(json.decode([String: JSONValue].self))) ?? .null
  }

  /// Writes the value.
  ///
  /// - Throws: the encoder's error.
  public func encode(to encoder: any Encoder) throws {
    let value: any Encodable =
      switch self {
      case .text(let text): text
      case .number(let number): number
      case .truth(let truth): truth
      case .list(let list): list
      case .object(let members): members
      case .null: String?.none
      }
    try value.encode(to: encoder)
  }

  /// The string, or nil of any other value.
  public var text: String? { if case .text(let text) = self { text } else { nil } }

  /// Returns a value as JSON in UTF-8: keys sorted, no blanks.
  package static func encode(_ value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // It fails for numbers that JSON has not, and none is made here.
    return (try? encoder.encode(value)).map { Array($0) } ?? []
  }

  /// Returns the value in JSON, or nil if it is none of this type.
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
