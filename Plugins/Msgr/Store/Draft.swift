internal import Cryptography

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
