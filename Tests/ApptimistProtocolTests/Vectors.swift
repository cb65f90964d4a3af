internal import ApptimistProtocol
internal import Cryptography
internal import FoundationEssentials
internal import Testing

/// The published vectors, as they are in the files of the folder `Vectors`.
enum Vectors {
  static func read<Content: Decodable>(_ type: Content.Type, from name: String) throws -> Content {
    let folder = #filePath.split(separator: "/").dropLast().joined(separator: "/")
    let path = "/\(folder)/Vectors/\(name).json"
    return try JSONDecoder().decode(type, from: try Data(contentsOf: URL(filePath: path)))
  }

  struct Keys: Decodable {
    struct User: Decodable {
      let name: String
      let encryptionSecret: Bytes
      let encryptionKey: Bytes
      let authenticationSeed: Bytes
      let authenticationKey: Bytes
      let signatureOfOwnEncryptionKey: Bytes
    }
    struct Ephemeral: Decodable {
      let secret: Bytes
      let key: Bytes
    }
    struct Document: Codable {
      let service: String
      let encryptionKey: String
      let authenticationKey: String
      let signature: String
      let versions: [Int]
    }
    struct Signature: Decodable {
      let name: String
      let signer: String
      let message: Bytes
      let signature: Bytes
      let valid: Bool
    }
    let users: [User]
    let ephemeral: [Ephemeral]
    let dataNonce: Bytes
    let headerNoncePrefix: Bytes
    let serviceDocument: Document
    let lowOrder: [Bytes]
    let notCanonical: [Bytes]
    let signatures: [Signature]

    func user(_ name: String) throws -> User {
      try #require(users.first { $0.name == name })
    }
  }

  struct Nonces: Decodable {
    struct Connection: Decodable {
      struct Nonce: Decodable {
        let from: String
        let pdu: Int
        let seq: UInt16
        let nonce: Bytes
        let redirectAfterIt: Bool
      }
      let ephemeralKey: Bytes
      let odd: String
      let sharedKey: Bytes
      let nonces: [Nonce]
    }
    let connections: [Connection]
  }

  struct Headers: Decodable {
    struct Header: Decodable {
      let name: String
      let type: UInt8
      let typeName: String
      let fields: Fields
      let header: Bytes
    }
    let headers: [Header]
  }

  struct RefusedHeaders: Decodable {
    struct Header: Decodable {
      let name: String
      let header: Bytes
      let reason: String?
    }
    let headers: [Header]
    let unknownTypes: [Header]
  }

  struct Connections: Decodable {
    struct Connection: Decodable {
      struct Message: Decodable {
        let from: String
        let typeName: String
        let header: Bytes
        let eData: Bytes
        let message: Bytes
      }
      let ephemeralSecret: Bytes
      let messages: [Message]
    }
    struct Box: Decodable {
      let name: String
      let from: String
      let to: String
      let data: Bytes
      let eData: Bytes
    }
    struct Refused: Decodable {
      let name: String
      let message: Bytes
      let reason: String
    }
    let connections: [Connection]
    let boxes: [Box]
    let refused: [Refused]
  }

  struct Messages: Decodable {
    struct ID: Decodable {
      let name: String
      let header: Bytes
      let eData: Bytes
      let messageID: Bytes
    }
    struct Forum: Decodable {
      struct Copy: Decodable {
        let reader: String
        let header: Bytes
        let eData: Bytes
        let messageID: Bytes
        let blindEData: Bytes
        let blindMessageID: Bytes
      }
      let data: Bytes
      let header: Bytes
      let eData: Bytes
      let messageID: Bytes
      let copies: [Copy]
    }
    struct Escrow: Decodable {
      let forumSecret: Bytes
      let sealed: Bytes
      let eDataOfAlice: Bytes
    }
    let messageIDs: [ID]
    let forum: Forum
    let escrow: Escrow
  }
}

/// Bytes that are written as hexadecimal digits.
struct Bytes: Decodable {
  let bytes: [UInt8]

  init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    bytes = try #require(Hex.decode(text.utf8))
  }

  func value<Value: FixedBytes>() throws -> Value { try #require(Value(bytes)) }
}

/// The fields of a header by their names in the specification.
struct Fields: Decodable {
  private enum Field: Decodable {
    case number(UInt64)
    case bytes(Bytes)
    case list([Bytes])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let number = try? container.decode(UInt64.self) {
        self = .number(number)
      } else if let bytes = try? container.decode(Bytes.self) {
        self = .bytes(bytes)
      } else {
        self = .list(try container.decode([Bytes].self))
      }
    }
  }

  private let fields: [String: Field]

  init(from decoder: any Decoder) throws {
    fields = try decoder.singleValueContainer().decode([String: Field].self)
  }

  func number<Value: UnsignedInteger>(_ name: String) throws -> Value {
    guard case .number(let number) = fields[name] else { throw MissingField(name: name) }
    return try #require(Value(exactly: number))
  }

  func bytes(_ name: String) throws -> [UInt8] {
    guard case .bytes(let bytes) = fields[name] else { throw MissingField(name: name) }
    return bytes.bytes
  }

  func value<Value: FixedBytes>(_ name: String) throws -> Value {
    try #require(Value(try bytes(name)))
  }

  func short(_ name: String) throws -> ShortBytes { try #require(ShortBytes(try bytes(name))) }

  func keys(_ name: String) throws -> [EncryptionPublicKey] {
    guard case .list(let list) = fields[name] else { throw MissingField(name: name) }
    return try list.map { try $0.value() }
  }

  private struct MissingField: Error {
    let name: String
  }
}
