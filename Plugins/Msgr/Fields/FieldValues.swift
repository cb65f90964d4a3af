internal import HTTPProtocol

/// The fields of a request, whichever of the three ways they came.
///
/// In order of preference: a JSON object, whatever its `Content-Type` says; a form; with an empty
/// body, header fields. Names are matched exactly in the first two. Unknown fields are ignored.
struct FieldValues: Sendable {
  private enum Value: Sendable {
    case text(String)
    case notText
    case repeated
  }

  private var values: [FieldID: Value] = [:]

  /// Reads the fields of a request.
  ///
  /// - Throws: ``FieldError`` without a field if the body is neither a JSON object nor a form, or
  ///   is compressed.
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
      for pair in form.pairs { take(FieldID(exactly: pair.name), .text(pair.value)) }
    }
  }

  /// Reads the members of a JSON object.
  ///
  /// - Parameter bytes: the object in UTF-8, blanks around it allowed.
  /// - Throws: ``FieldError`` if it is none.
  init(json bytes: [UInt8]) throws(FieldError) { try read(json: bytes) }

  private mutating func read(json bytes: [UInt8]) throws(FieldError) {
    guard let members = JSONObjectReader.members(of: bytes) else {
      throw FieldError(nil, "the body is no JSON object")
    }
    for member in members {
      take(FieldID(exactly: member.name), member.text.map { .text($0) } ?? .notText)
    }
  }

  private mutating func read(header: RequestHead) {
    header.forEachField { name, value in
      let field = FieldID.allCases.first {
        $0.rawValue.utf8.elementsEqual(name) { $0 | 0x20 == $1 | 0x20 }
      }
      take(field, String(validating: value, as: UTF8.self).map { .text($0) } ?? .notText)
    }
  }

  private mutating func take(_ field: FieldID?, _ value: Value) {
    guard let field else { return }
    values[field] = values[field] == nil ? value : .repeated
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0a).contains(byte) || byte == 0x0d
  }

  /// Whether the body stands there as it is.
  private static func isPlain(_ head: RequestHead) -> Bool {
    guard let coding = head.first(.contentEncoding) else { return true }
    return coding.elementsEqual("identity".utf8)
  }

  /// Whether the body says that it is a form, or says nothing.
  private static func isForm(_ head: RequestHead) -> Bool {
    guard let type = head.first(.contentType) else { return true }
    let essence = type.prefix { $0 != UInt8(ascii: ";") && !isBlank($0) }
    return essence.elementsEqual("application/x-www-form-urlencoded".utf8) {
      (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 == $1 : $0 == $1
    }
  }
}

extension FieldValues {
  /// Whether a field was given at all.
  func has(_ field: FieldID) -> Bool { values[field] != nil }

  /// The text of a field that must be there.
  ///
  /// - Throws: ``FieldError`` if it is missing, no string, or there twice.
  func text(_ field: FieldID) throws(FieldError) -> String {
    switch values[field] {
    case .text(let text): return text
    case .notText: throw FieldError(field, "is not a string")
    case .repeated: throw FieldError(field, "stands more than once")
    case nil: throw FieldError(field, "is missing")
    }
  }

  /// A user's name.
  func name(_ field: FieldID) throws(FieldError) -> UserName {
    try UserName(try text(field), in: field)
  }

  /// The password.
  ///
  /// - Parameter acceptsMisspelling: whether `Passwword` stands for `Password`.
  func password(acceptsMisspelling: Bool = false) throws(FieldError) -> Password {
    let isMisspelt = acceptsMisspelling && !has(.password) && has(.misspeltPassword)
    let field = isMisspelt ? FieldID.misspeltPassword : .password
    return try Password(try text(field), in: field)
  }

  /// The device.
  func device() throws(FieldError) -> DeviceID { try DeviceID(try text(.deviceID)) }

  /// The message.
  func message() throws(FieldError) -> MessageText { try MessageText(try text(.message)) }

  /// The position in the inbox behind which to read; the start if none is given.
  func since() throws(FieldError) -> MessageID {
    has(.since) ? try MessageID(try text(.since), in: .since) : .zero
  }
}

extension FieldID {
  /// The field with exactly this name; `String` would compare canonical equivalents as equal.
  init?(exactly name: String) {
    guard let field = FieldID(rawValue: name), field.rawValue.utf8.elementsEqual(name.utf8) else {
      return nil
    }
    self = field
  }
}
