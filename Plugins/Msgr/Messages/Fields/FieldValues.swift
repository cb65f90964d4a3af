package import HTTPProtocol

/// The fields of a request, which come in one of three ways.
///
/// In order of preference, these are a JSON object, whatever its `Content-Type` says; a form; and, with an empty body,
/// header fields. Names are matched exactly in the first two. Unknown fields are ignored.
package struct FieldValues: Sendable {
  private enum Value: Sendable {
    case text(String)
    case notText
    case repeated
  }

  private var values: [FieldID: Value] = [:]

  /// Reads the fields of a request.
  ///
  /// - Throws: ``FieldError`` without a field if the body is neither a JSON object nor a form, or is compressed.
  package init(_ request: Request) throws(FieldError) {
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
  /// - Parameter bytes: the object in UTF-8; blanks around it are allowed.
  /// - Throws: ``FieldError`` if the bytes are no object.
  package init(json bytes: [UInt8]) throws(FieldError) { try read(json: bytes) }

  private mutating func read(json bytes: [UInt8]) throws(FieldError) {
    guard let members = JSONObjectReader.members(of: bytes) else {
      throw FieldError(nil, "the body is no JSON object")
    }
    for member in members {
      let value: Value = if case .text(let text) = member.value { .text(text) } else { .notText }
      take(FieldID(exactly: member.name), value)
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

  /// Whether the body is not encoded.
  private static func isPlain(_ head: RequestHead) -> Bool {
    guard let coding = head.first(.contentEncoding) else { return true }
    return coding.elementsEqual("identity".utf8)
  }

  /// Whether the content type is a form's or missing.
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
  package func has(_ field: FieldID) -> Bool { values[field] != nil }

  /// Returns the text of a field that must be there.
  ///
  /// - Throws: ``FieldError`` if the field is missing, no string, or there twice.
  package func text(_ field: FieldID) throws(FieldError) -> String {
    switch values[field] {
    case .text(let text): return text
    case .notText: throw FieldError(field, "is not a string")
    case .repeated: throw FieldError(field, "stands more than once")
    case nil: throw FieldError(field, "is missing")
    }
  }

  /// Returns the user's name in a field.
  package func name(_ field: FieldID) throws(FieldError) -> UserName {
    try UserName(try text(field), in: field)
  }

  /// Returns the password.
  ///
  /// - Parameter acceptsMisspelling: whether `Passwword` is taken for `Password`.
  package func password(acceptsMisspelling: Bool = false) throws(FieldError) -> Password {
    let isMisspelt = acceptsMisspelling && !has(.password) && has(.misspeltPassword)
    let field = isMisspelt ? FieldID.misspeltPassword : .password
    return try Password(try text(field), in: field)
  }

  /// Returns the device.
  package func device() throws(FieldError) -> DeviceID { try DeviceID(try text(.deviceID)) }

  /// Returns the text of the message.
  package func message() throws(FieldError) -> MessageText { try MessageText(try text(.message)) }

  /// Returns the position in the inbox to read after, which is the start if none is given.
  package func since() throws(FieldError) -> MessageID {
    has(.since) ? try MessageID(try text(.since), in: .since) : .zero
  }
}
