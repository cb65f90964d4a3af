internal import Storage

/// What a message says: some text, without control characters but tab, CR and LF.
///
/// How long it may be depends on its sender: see ``fitsIntoPush(from:)``.
struct MessageText: Hashable, Sendable {
  /// The text.
  let text: String

  /// Checks a message.
  ///
  /// - Parameter text: the message.
  /// - Throws: ``FieldError`` that says which rule it breaks.
  init(_ text: String) throws(FieldError) {
    guard !text.isEmpty else { throw FieldError(.message, "is empty") }
    guard text.unicodeScalars.allSatisfy({ !$0.isControl || Self.whitespace.contains($0) }) else {
      throw FieldError(.message, "has a control character")
    }
    self.text = text
  }

  private static let whitespace: Set<Unicode.Scalar> = ["\t", "\n", "\r"]

  /// What the recipient of an add request is told.
  ///
  /// - Parameter name: who asks.
  static func addRequest(from name: UserName) -> MessageText {
    MessageText(unchecked: "\(name.text) wants to add you")
  }

  private init(unchecked text: String) { self.text = text }
}

extension MessageText {
  /// The longest payload of a push, in bytes.
  static let longestPush = 4096
  /// What the payload has beside the message and its sender: the names, an alert that is cut to an
  /// ellipsis, a badge of seven digits.
  private static let pushFrame =
    Array(
      #"{"aps":{"alert":{"title":"","body":"…"},"sound":"default","badge":1234567},"#.utf8
    ).count
    + Array(#""UserFrom":"","Message":"","Id":"0123456789abcdef","AddRequest":true}"#.utf8).count

  /// Whether a push can carry the whole message, its alert's copy being cut to fit.
  ///
  /// - Parameter sender: who sends it; the payload names it twice.
  func fitsIntoPush(from sender: UserName) -> Bool {
    text.utf8.count <= Self.longestPush
      && Self.pushFrame + 2 * Self.lengthInJSON(sender.text) + Self.lengthInJSON(text)
        <= Self.longestPush
  }

  /// How many bytes a text takes between the quotation marks, with no more escaped than must be.
  private static func lengthInJSON(_ text: String) -> Int {
    text.utf8.reduce(0) { length, byte in
      let isEscaped = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20
      return length + (isEscaped ? 2 : 1)
    }
  }
}

extension MessageText: DatabaseValueConvertible {
  /// The text, as TEXT.
  var databaseValue: DatabaseValue { .text(text) }

  /// Takes a stored text, which was checked when it was stored.
  init?(databaseValue: DatabaseValue) {
    guard case .text(let text) = databaseValue else { return nil }
    self.init(unchecked: text)
  }
}
