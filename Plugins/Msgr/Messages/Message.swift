internal import Cryptography
internal import Formats
internal import Platform

/// A message in its recipient's inbox, or its sender's own copy.
struct Message: Hashable, Sendable {
  /// The identifier, which is also a position in the inbox.
  let id: MsgrMessageID
  /// The user who sent the message.
  let sender: UserName
  /// The user whom the message was sent to, or nil where that is plain.
  var recipient: UserName?
  /// The text.
  let text: MessageText
  /// The moment at which the message was stored.
  let time: Timestamp
  /// True if the message asks the recipient to become a friend.
  let isAddRequest: Bool
  /// The optional parts beside its text.
  var parts = MessageParts()
  /// The number by which Gotify's clients know a message of a publisher or a topic.
  var number: Int64?
  /// The client's name for an own message.
  var clientID: ClientID?
  /// The device that has sent an own message, if it came by a token.
  var origin: DeviceID?
}

extension Message {
  /// Makes the own copy of a message that a user sends.
  init(ownCopy draft: Draft, of sender: Caller, id: MsgrMessageID, time: Timestamp) {
    self.init(
      id: id, sender: sender.name, recipient: draft.recipient, text: draft.text, time: time,
      isAddRequest: false, clientID: draft.clientID, origin: sender.device)
  }
}

// The form that the inbox, the history and the stream show.
extension Message: Encodable {
  private enum Key: String, CodingKey {
    case id = "Id"
    case userFrom = "UserFrom"
    case userTo = "UserTo"
    case message = "Message"
    case time = "Time"
    case addRequest = "AddRequest"
    case clientID = "ClientId"
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(id.text, forKey: .id)
    try container.encode(sender.text, forKey: .userFrom)
    try container.encodeIfPresent(recipient?.text, forKey: .userTo)
    try container.encode(text.text, forKey: .message)
    try container.encode(time.description, forKey: .time)
    if isAddRequest { try container.encode(true, forKey: .addRequest) }
    try container.encodeIfPresent(clientID?.text, forKey: .clientID)
    if !parts.isEmpty { try parts.encode(to: encoder) }
  }
}

/// A message that a user wants sent.
struct Draft: Sendable {
  let text: MessageText
  let recipient: UserName
  /// The client's own name for the message, by which a retry is known.
  var clientID: ClientID?

  /// A digest that tells whether two messages are the same; no name has a NUL.
  var digest: [UInt8] { SHA256.hash(Array("\(recipient.text)\0\(text.text)".utf8)).bytes }
}

extension Draft {
  /// Reads the fields of a message.
  init(_ fields: FieldValues) throws(FieldError) {
    self.init(
      text: try fields.message(), recipient: try fields.name(.userTo),
      clientID: try fields.clientID())
  }
}

/// The identifier of a message, higher than all that were made before it.
///
/// The upper 48 bits are milliseconds since 1970, so that identifiers go on rising after an older backup of the
/// database is restored.
struct MsgrMessageID: Hashable, Sendable, RawRepresentable {
  /// The number, which is not negative.
  let rawValue: Int64

  init(rawValue: Int64) { self.rawValue = rawValue }

  /// Makes the lowest identifier of a moment.
  ///
  /// - Parameter moment: the time; a clock that is far off counts as the nearest moment that leaves room for more.
  init(earliestAt moment: Timestamp) {
    rawValue = min(max(moment.milliseconds, 0), 1 << 46) << 16
  }

  /// The position before all messages.
  static let zero = MsgrMessageID(rawValue: 0)
  /// The position after all messages.
  static let last = MsgrMessageID(rawValue: .max)

  /// The identifier right above this one; the last one has none.
  var next: MsgrMessageID { MsgrMessageID(rawValue: rawValue == .max ? .max : rawValue + 1) }

  /// Reads 16 lower-case hexadecimal digits.
  ///
  /// - Parameter field: the field that holds them.
  /// - Throws: ``FieldError`` for anything else.
  init(_ text: String, in field: FieldID) throws(FieldError) {
    guard !text.isEmpty else { throw FieldError(field, "is empty") }
    let digits = text.utf8
    let isHex = digits.allSatisfy("0123456789abcdef".utf8.contains)
    guard digits.count == 16, isHex, let number = UInt64(text, radix: 16) else {
      throw FieldError(field, "is not 16 lower-case hexadecimal digits")
    }
    // A higher number is a position after all messages.
    rawValue = Int64(clamping: number)
  }

  /// The identifier as 16 lower-case hexadecimal digits.
  var text: String {
    let digits = String(rawValue, radix: 16)
    return String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits
  }
}

extension MsgrMessageID: Comparable {
  /// Compares two identifiers in the order in which they were made.
  static func < (left: MsgrMessageID, right: MsgrMessageID) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// The text of a message, without control characters other than tab, CR and LF.
///
/// A person's message must fit into a push: see ``fitsIntoPush(from:)``. A publisher's may be longer, and is cut there.
struct MessageText: Hashable, Sendable {
  /// The text.
  let text: String

  /// Checks a message.
  ///
  /// - Throws: ``FieldError`` that says which rule the text breaks.
  init(_ text: String) throws(FieldError) {
    guard !text.isEmpty else { throw FieldError(.message, "is empty") }
    guard text.unicodeScalars.allSatisfy({ !$0.isControl || Self.whitespace.contains($0) }) else {
      throw FieldError(.message, "has a control character")
    }
    self.text = text
  }

  /// Takes a stored text, which was checked before it was stored.
  init(stored text: String) { self.text = text }

  /// The message that notifies the recipient of an add request.
  static func addRequest(from name: UserName) -> MessageText {
    MessageText(stored: "\(name.text) wants to add you")
  }

  private static let whitespace: Set<Unicode.Scalar> = ["\t", "\n", "\r"]
}

extension MessageText {
  /// The longest payload of a push, in bytes.
  static let longestPush = 4096
  /// The length of a payload without the message and its sender: the names, an alert that is cut to an ellipsis, a
  /// badge of seven digits.
  private static let pushFrame = JSONWriter.object { payload in
    payload.add(
      "aps",
      object: { aps in
        aps.add(
          "alert",
          object: { alert in
            alert["title"] = ""
            alert["body"] = "…"
          })
        aps["sound"] = "default"
        aps["badge"] = 1_234_567
      })
    payload["UserFrom"] = ""
    payload["Message"] = ""
    payload["Id"] = "0123456789abcdef"
    payload["AddRequest"] = true
  }.count

  /// Returns whether a push can carry the whole message, with the alert's copy of it cut to fit.
  ///
  /// The sender stands in the payload twice.
  func fitsIntoPush(from sender: UserName) -> Bool {
    guard text.utf8.count <= Self.longestPush else { return false }
    let own = 2 * Self.lengthInJSON(sender.text) + Self.lengthInJSON(text)
    return Self.pushFrame + own <= Self.longestPush
  }

  /// The number of bytes that a text takes between the quotation marks, with no more escaped than must be.
  private static func lengthInJSON(_ text: String) -> Int {
    text.utf8.reduce(0) { length, byte in
      let isEscaped = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20
      return length + (isEscaped ? 2 : 1)
    }
  }
}

/// A client's own name for a message that it sends: 1 to 64 of `[0-9A-Za-z_-]`, the same at each attempt.
struct ClientID: Hashable, Sendable {
  /// The longest name, in bytes.
  static let longest = 64

  /// The name.
  let text: String

  /// Checks a name.
  ///
  /// - Throws: ``FieldError`` for anything else.
  init(_ text: String) throws(FieldError) {
    guard !text.isEmpty else { throw FieldError(.clientID, "is empty") }
    guard text.utf8.count <= Self.longest, text.utf8.allSatisfy(Self.allows) else {
      throw FieldError(
        .clientID, "is not 1 to \(Self.longest) letters, digits, hyphens and underscores")
    }
    self.text = text
  }

  /// Takes a stored name, which was checked before it was stored.
  init(stored text: String) { self.text = text }

  private static func allows(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }
}
