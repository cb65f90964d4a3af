/// The text of a message, without control characters other than tab, CR and LF.
///
/// Its greatest length depends on the sender: see ``fitsIntoPush(from:)``.
struct MessageText: Hashable, Sendable {
  /// The text.
  let text: String

  /// Checks a message.
  ///
  /// - Parameter text: the message.
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

  /// The message that tells the recipient of an add request about it.
  ///
  /// - Parameter name: the name of the user who asks.
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
  private static let pushFrame =
    #"{"aps":{"alert":{"title":"","body":"…"},"sound":"default","badge":1234567},"#.utf8.count
    + #""UserFrom":"","Message":"","Id":"0123456789abcdef","AddRequest":true}"#.utf8.count
  /// The length of the member names of title, priority and link, and of the text before the title.
  private static let extrasFrame = #": ","Title":"","Priority":10,"Link":"""#.utf8.count

  /// Returns whether a push can carry the whole message, with the alert's copy of it cut to fit.
  ///
  /// - Parameters:
  ///   - sender: the sender, whom the payload names twice.
  ///   - extras: a published message's title, priority and link; the title stands twice as well.
  func fitsIntoPush(from sender: UserName, with extras: Publication.Extras = .init()) -> Bool {
    guard text.utf8.count <= Self.longestPush else { return false }
    let own = 2 * Self.lengthInJSON(sender.text) + Self.lengthInJSON(text)
    let more =
      extras.isEmpty
      ? 0
      : Self.extrasFrame + 2 * Self.lengthInJSON(extras.title ?? "")
        + Self.lengthInJSON(extras.link?.text ?? "")
    return Self.pushFrame + own + more <= Self.longestPush
  }

  /// The number of bytes that a text takes between the quotation marks, with no more escaped than must be.
  private static func lengthInJSON(_ text: String) -> Int {
    text.utf8.reduce(0) { length, byte in
      let isEscaped = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20
      return length + (isEscaped ? 2 : 1)
    }
  }
}
