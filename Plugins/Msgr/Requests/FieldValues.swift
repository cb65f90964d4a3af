internal import Formats
internal import HTTPProtocol

/// The fields of a request, which come in one of three ways.
///
/// In order of preference, these are a JSON object, whatever its `Content-Type` says; a form; and, with an empty body,
/// header fields. Names are matched exactly in the first two. Unknown fields are ignored.
struct FieldValues: Sendable {
  private enum Value: Sendable, Equatable {
    case text(String)
    case integer(Int64)
    case list([String])
    case truth(Bool)
    case notText
    case repeated
  }

  /// The fields that were given, each once. They are few, so that a search is faster than a hash.
  private var values: [(field: FieldID, value: Value)] = []

  /// Reads the fields of a request.
  ///
  /// - Throws: ``FieldError`` without a field if the body is neither a JSON object nor a form, or is compressed.
  init(_ request: Request) throws(FieldError) {
    guard request.body.isEmpty || Self.isPlain(request.head) else {
      throw FieldError(nil, "the body has a Content-Encoding, which isn't taken")
    }
    let start = request.body.first { !Self.isBlank($0) }
    if start == UInt8(ascii: "{") {
      try read(json: request.body)
    } else if request.body.isEmpty {
      read(header: request.head)
    } else {
      guard Self.isForm(request.head) else {
        throw FieldError(nil, "the body is neither a JSON object nor a form")
      }
      guard let form = URLEncodedForm(request.body[...]) else {
        throw FieldError(nil, "the form is malformed, not UTF-8, or has a NUL")
      }
      for pair in form.pairs { add(FieldID(exactly: pair.name), .text(pair.value)) }
    }
  }

  /// Takes values that are given one by one.
  init(_ texts: [FieldID: String]) { values = texts.map { ($0, .text($1)) } }

  /// Reads the members of a JSON object.
  ///
  /// - Parameter bytes: the object in UTF-8; blanks around it are allowed.
  /// - Throws: ``FieldError`` if the bytes are no object.
  init(json bytes: [UInt8]) throws(FieldError) { try read(json: bytes) }

  private mutating func read(json bytes: [UInt8]) throws(FieldError) {
    guard let members = JSONObjectReader.members(of: bytes) else { throw .noObject }
    for member in members {
      let value: Value? =
        switch member.value {
        case .text(let text): .text(text)
        case .integer(let number): .integer(number)
        case .list(let texts): .list(texts)
        case .truth(let truth): .truth(truth)
        case .null: nil
        case .fraction, .other: .notText
        }
      guard let value else { continue }
      add(FieldID(exactly: member.name), value)
    }
  }

  private mutating func read(header: RequestHead) {
    header.forEachField { name, value in
      let field = FieldID.allCases.first {
        $0.rawValue.utf8.elementsEqual(name) { $0 | 0x20 == $1 | 0x20 }
      }
      add(field, String(validating: value, as: UTF8.self).map { .text($0) } ?? .notText)
    }
  }

  private mutating func add(_ field: FieldID?, _ value: Value) {
    guard let field else { return }
    if let index = values.firstIndex(where: { $0.field == field }) {
      values[index].value = .repeated
    } else {
      values.append((field, value))
    }
  }

  private func value(_ field: FieldID) -> Value? { values.first { $0.field == field }?.value }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0a).contains(byte) || byte == 0x0d
  }

  /// Returns whether the body is not encoded.
  private static func isPlain(_ head: RequestHead) -> Bool {
    guard let coding = head.first(.contentEncoding) else { return true }
    return coding.elementsEqual("identity".utf8)
  }

  /// Returns whether the content type is a form's or missing.
  private static func isForm(_ head: RequestHead) -> Bool {
    guard let type = head.first(.contentType) else { return true }
    let essence = type.prefix { $0 != UInt8(ascii: ";") && !isBlank($0) }
    return essence.elementsEqual("application/x-www-form-urlencoded".utf8) {
      (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 == $1 : $0 == $1
    }
  }
}

extension FieldValues {
  /// Returns whether a field was given at all.
  func has(_ field: FieldID) -> Bool { value(field) != nil }

  /// Returns the text of a field that must be there.
  ///
  /// - Throws: ``FieldError`` if the field is missing, no string, or there twice.
  func text(_ field: FieldID) throws(FieldError) -> String {
    switch value(field) {
    case .text(let text): return text
    case .notText, .integer, .list, .truth: throw FieldError(field, "is not a string")
    case .repeated: throw FieldError(field, "stands more than once")
    case nil: throw FieldError(field, "is missing")
    }
  }

  /// Returns the user's name in a field.
  func name(_ field: FieldID) throws(FieldError) -> UserName {
    try UserName(try text(field), in: field)
  }

  /// Returns the name of a sender in a field, which may be a publisher.
  func sender(_ field: FieldID) throws(FieldError) -> UserName {
    try UserName(try text(field), in: field, atMost: UserName.longestSender)
  }

  /// Returns the password.
  ///
  /// - Parameter acceptsMisspelling: whether `Passwword` is taken for `Password`.
  func password(acceptsMisspelling: Bool = false) throws(FieldError) -> Password {
    let isMisspelt = acceptsMisspelling && !has(.password) && has(.misspeltPassword)
    let field = isMisspelt ? FieldID.misspeltPassword : .password
    return try Password(try text(field), in: field)
  }

  /// Returns the device.
  func device() throws(FieldError) -> DeviceID { try DeviceID(try text(.deviceID)) }

  /// Returns the text of the message.
  func message() throws(FieldError) -> MessageText { try MessageText(try text(.message)) }

  /// Returns the client's name for the message, if one is given.
  func clientID() throws(FieldError) -> ClientID? {
    has(.clientID) ? try ClientID(try text(.clientID)) : nil
  }

  /// Returns a password that the user begins to use.
  ///
  /// - Parameter least: the fewest bytes.
  func newPassword(_ field: FieldID, atLeast least: Int) throws(FieldError) -> Password {
    let password = try Password(try text(field), in: field)
    guard password.bytes.count >= least else {
      throw FieldError(field, "is shorter than \(least) bytes")
    }
    return password
  }

  /// Returns the user's name for a device, which is empty if none is given: at most 64 bytes without control characters.
  func deviceName() throws(FieldError) -> String {
    has(.deviceName) ? try UserName(try text(.deviceName), in: .deviceName).text : ""
  }

  /// Returns a truth value, as JSON's or as the word for it; false if there is no such field.
  func truth(_ field: FieldID) throws(FieldError) -> Bool {
    switch value(field) {
    case nil, .truth(false), .text("false"): return false
    case .truth(true), .text("true"): return true
    default: throw FieldError(field, "is neither true nor false")
    }
  }

  /// Returns the name of a publisher, which has no slash.
  func publisherName() throws(FieldError) -> String {
    try UserName(ofNewAccount: try text(.name), in: .name).text
  }

  /// Returns the names in a list, which a form or a header field separates by commas; none if there is no such field.
  func names(_ field: FieldID, atMost most: Int) throws(FieldError) -> [UserName] {
    let texts: [String]
    switch value(field) {
    case nil: return []
    case .list(let list): texts = list
    case .text(let text): texts = text.split(separator: ",").map { "\($0)" }
    case .notText, .integer, .truth, .repeated: throw FieldError(field, "is not a list of strings")
    }
    guard texts.count <= most else { throw FieldError(field, "has more than \(most) names") }
    return try texts.map { text throws(FieldError) in try UserName(text, in: field) }
  }

  /// Returns the texts in a list, which a form or a header field separates by commas; nil if there is no such field.
  func list(_ field: FieldID, atMost most: Int) throws(FieldError) -> [String]? {
    let texts: [String]
    switch value(field) {
    case nil: return nil
    case .list(let list): texts = list
    case .text(let text): texts = text.split(separator: ",").map { "\($0)" }
    case .notText, .integer, .truth, .repeated: throw FieldError(field, "is not a list of strings")
    }
    guard texts.count <= most else { throw FieldError(field, "has more than \(most) names") }
    return texts
  }

  /// Returns a whole number, as JSON's number or in digits.
  ///
  /// - Parameter range: the numbers that are taken.
  /// - Returns: nil if there is no such field.
  func number(_ field: FieldID, in range: ClosedRange<Int>) throws(FieldError) -> Int? {
    let number: Int?
    switch value(field) {
    case nil: return nil
    case .integer(let value): number = Int(exactly: value)
    case .text(let digits): number = Int(digits)
    case .notText, .list, .truth, .repeated: number = nil
    }
    guard let number, range.contains(number) else {
      throw FieldError(
        field, "is not a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Returns the position in the inbox to read after, which is the start if none is given.
  func since() throws(FieldError) -> MsgrMessageID {
    has(.since) ? try MsgrMessageID(try text(.since), in: .since) : .zero
  }
}

/// The fields of requests, by the names that the protocol gives them.
enum FieldID: String, CaseIterable, Sendable {
  case username = "Username"
  case userFrom = "UserFrom"
  case password = "Password"
  /// The protocol's own misspelling of `Password`, where a contact is added.
  case misspeltPassword = "Passwword"
  case deviceID = "DeviceID"
  case addUser = "AddUser"
  case userTo = "UserTo"
  case user = "User"
  case message = "Message"
  case since = "Since"
  /// The user's name for a device.
  case deviceName = "DeviceName"
  case invitation = "Invitation"
  case newPassword = "NewPassword"
  /// The client's name for a message.
  case clientID = "ClientId"
  /// The other user of a conversation.
  case with = "With"
  case before = "Before"
  case limit = "Limit"
  /// How many of a list were there before.
  case skip = "Skip"
  case id = "Id"
  /// The session to end.
  case end = "End"
  /// The SHA-256 of the token that ends.
  case tokenDigest = "TokenDigest"
  /// The name of a publisher.
  case name = "Name"
  /// The users to whom a publisher sends.
  case to = "To"
  case title = "Title"
  case priority = "Priority"
  case link = "Link"
  /// The address of a subscription at a push service, and its keys.
  case endpoint = "Endpoint"
  case p256dh = "P256dh"
  case auth = "Auth"
  /// The topics that a publisher writes to, whether it reads them, and the form of its token.
  case topics = "Topics"
  case read = "Read"
  case form = "Form"
  /// A topic, what one or everyone may do with it, and whether its messages are pushed.
  case topic = "Topic"
  case access = "Access"
  case everyone = "Everyone"
  case push = "Push"
  /// The wish that a browser shows notifications by itself.
  case declarative = "Declarative"

  /// The address of a wallet, its chain, and its signature.
  case address = "Address"
  case chain = "Chain"
  case signature = "Signature"
  /// The address of a wallet that is no longer to log in.
  case remove = "Remove"

  /// Finds the field with exactly this name; `String` would take canonical equivalents as equal.
  init?(exactly name: String) {
    guard let field = FieldID(rawValue: name), field.rawValue.utf8.elementsEqual(name.utf8) else {
      return nil
    }
    self = field
  }
}

/// A fault in a field of a request, reported with status 400.
struct FieldError: Error, Hashable {
  /// The field, or nil if the fault is the whole body's.
  let field: FieldID?
  /// The fault in words for the caller, without any part of the value.
  let message: String

  /// The fault of a body that ``JSONObjectReader`` doesn't take.
  static let noObject = FieldError(
    nil, "the body is no JSON object, or has a name twice, half a character or too large a number")

  init(_ field: FieldID?, _ message: String) {
    self.field = field
    self.message = message
  }

  /// The fault as a sentence that names the field.
  var sentence: String { field.map { "\($0.rawValue) \(message)" } ?? message }
}
