public import FoundationEssentials

/// A message as it stands in its recipient's inbox, or a copy of one that the user has sent from another device.
public struct MsgrMessage: Hashable, Sendable {
  /// The message's identifier, the same in the inbox, on the stream, and in a push's payload (`Id`).
  public let id: MsgrMessageID
  /// The sender's name.
  public let sender: String
  /// The recipient's name, or nil where the recipient is this account: in the inbox, and on a stream but for own copies.
  public let recipient: String?
  /// The content.
  public let text: String
  /// The time at which the server accepted the message.
  public let time: Date
  /// True if the message is a request to become a friend; ``MsgrSession/add(_:)`` with its sender agrees.
  public var isAddRequest: Bool { addRequest ?? false }
  private let addRequest: Bool?
  /// The title of a published message.
  public let title: String?
  /// The priority of a published message, 0 to 10.
  public let priority: Int?
  /// The link of a published message: `https`, `http` or `mailto`.
  public let link: String?
  /// The name that ``MsgrSession/send(_:to:as:)`` gave an own message.
  public let clientID: String?
}

extension MsgrMessage: Decodable {
  private enum CodingKeys: String, CodingKey {
    case id = "Id"
    case sender = "UserFrom"
    case recipient = "UserTo"
    case text = "Message"
    case time = "Time"
    case addRequest = "AddRequest"
    case clientID = "ClientId"
    case title = "Title"
    case priority = "Priority"
    case link = "Link"
  }
}

/// The identifier of a message. Each is higher than all that the server made before, so the highest that a device has
/// is also its position in the inbox.
public struct MsgrMessageID: Hashable, Comparable, Sendable {
  /// 16 lower-case hexadecimal digits, as the protocol writes them.
  public let text: String

  /// Reads an identifier that was kept as text.
  ///
  /// - Parameter text: 16 lower-case hexadecimal digits.
  /// - Returns: the identifier, or nil for anything else.
  public init?(_ text: String) {
    guard text.utf8.count == 16, text.utf8.allSatisfy("0123456789abcdef".utf8.contains) else {
      return nil
    }
    self.text = text
  }

  /// Returns whether one message was made before another.
  public static func < (left: Self, right: Self) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}

extension MsgrMessageID: RawRepresentable, Decodable {
  /// The digits.
  public var rawValue: String { text }

  /// Reads an identifier as the server writes it.
  public init?(rawValue: String) { self.init(rawValue) }
}

extension MsgrMessageID: CustomStringConvertible {
  /// The digits.
  public var description: String { text }
}

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
