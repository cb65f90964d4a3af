internal import ApptimistProtocol
internal import Cryptography
internal import WalletClient

/// The messages that a chat has shown of late: those that can be answered, changed and taken back.
struct ChatTranscript: Sendable {
  /// A message as it was shown.
  struct Message: Sendable {
    /// The number by which the user names it.
    let number: Int
    let id: MessageID
    /// The person or forum with whom it was exchanged.
    let chat: EncryptionPublicKey
    let author: EncryptionPublicKey
    /// The time of writing, as its author states it, in seconds since 1970.
    let time: UInt64
    fileprivate(set) var text: String
    /// The time of the newest edit, or zero.
    fileprivate(set) var edited: UInt64 = 0
    /// The identifiers of what goes from the own mailbox when the message is taken back.
    fileprivate(set) var copies: [MessageID]
  }

  /// The most messages that are remembered.
  private static let capacity = 1_000

  /// The oldest first.
  private var messages: [Message] = []
  private var lastNumber = 0

  /// Adds a message that is shown, unless it was shown before.
  mutating func add(
    _ id: MessageID, in chat: EncryptionPublicKey, by author: EncryptionPublicKey, at time: UInt64,
    _ text: String, copies: [MessageID]
  ) {
    if let index = messages.firstIndex(where: { $0.id == id }) {
      for copy in copies where !messages[index].copies.contains(copy) {
        messages[index].copies.append(copy)
      }
      return
    }
    if messages.count >= Self.capacity { messages.removeFirst(Self.capacity / 10) }
    lastNumber += 1
    messages.append(
      Message(
        number: lastNumber, id: id, chat: chat, author: author, time: time, text: text,
        copies: copies))
  }

  /// The message with an identifier.
  subscript(_ id: MessageID) -> Message? { messages.last { $0.id == id } }

  /// The message with a number.
  subscript(number number: Int) -> Message? { messages.last { $0.number == number } }

  /// Returns the newest messages of a chat, the oldest first.
  func newest(_ count: Int, in chat: EncryptionPublicKey) -> [Message] {
    messages.filter { $0.chat == chat }.suffix(count)
  }

  /// Returns the newest message of a chat that is the user's, or that isn't.
  func newest(
    in chat: EncryptionPublicKey, by user: EncryptionPublicKey, isOwn: Bool
  ) -> Message? { messages.last { $0.chat == chat && ($0.author == user) == isOwn } }

  /// Applies an edit, if it counts: the author's own, in the same chat, within an hour, and no older than another one.
  ///
  /// - Returns: the message as it was, or nil if the edit doesn't count.
  mutating func apply(
    _ edit: MessageContent.Edit, by author: EncryptionPublicKey, in chat: EncryptionPublicKey,
    at time: UInt64
  ) -> Message? {
    guard let index = messages.lastIndex(where: { $0.id == edit.of }) else { return nil }
    let message = messages[index]
    let (end, isEndless) = message.time.addingReportingOverflow(MessageContent.Edit.period)
    guard message.chat == chat, message.author == author, isEndless || time <= end,
      time >= message.edited
    else { return nil }
    messages[index].text = edit.text
    messages[index].edited = time
    return message
  }

  /// Removes a message that its author takes back.
  ///
  /// - Returns: the message, or nil if it isn't the author's or not of this chat.
  mutating func takeBack(
    _ id: MessageID, by author: EncryptionPublicKey, in chat: EncryptionPublicKey
  ) -> Message? {
    let index = messages.lastIndex { $0.id == id && $0.author == author && $0.chat == chat }
    return index.map { messages.remove(at: $0) }
  }

  /// Forgets a message of which something was deleted from the own mailbox.
  mutating func forget(_ copy: MessageID) { messages.removeAll { $0.copies.contains(copy) } }
}

extension ChatTranscript.Message {
  private static let quoteLength = 40

  /// The beginning of the text, to name the message by it.
  var quote: String {
    let line = text.prefix { !$0.isNewline }
    return line.count > Self.quoteLength || line.count < text.count
      ? "“\(line.prefix(Self.quoteLength))…”" : "“\(line)”"
  }
}

/// An argument that names a message by its number, `#12`, or leaves it to the chat which one is meant.
struct ChatReference {
  /// The number of the message, or nil if none was named.
  let number: Int?
  /// The rest of the line.
  let rest: String

  init(_ text: String) {
    let words = text.split(separator: " ", maxSplits: 1)
    guard let first = words.first, first.hasPrefix("#"), let number = Int(first.dropFirst()) else {
      self.number = nil
      rest = text
      return
    }
    self.number = number
    rest = words.count == 2 ? String(words[1]) : ""
  }
}
