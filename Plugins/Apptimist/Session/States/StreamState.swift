internal import ApptimistProtocol

/// A session whose stream goes on, in whichever version.
protocol StreamState: ~Copyable {
  /// The place of the stream.
  var cursor: StreamCursor { get set }
  /// The posts or the truncation of the open query, or nil if it is about something else.
  var making: StreamMaking? { get }

  /// Sends an entry.
  mutating func send(_ entry: StreamEntry, _ context: inout SessionContext) throws(SessionEnd)
}

/// Something that makes entries of the user's mailbox.
enum StreamMaking {
  case posts([Post])
  case truncation(MessageID)

  /// Whether an entry may be one of them.
  func mayMake(_ entry: StreamEntry) -> Bool {
    switch (self, entry.content) {
    case (.posts(let posts), .message(let header, _)):
      // A copy from a forum differs in its recipient.
      posts.contains { PDU.Message.isSame($0.header, header) }
    case (.truncation(let id), .truncation): entry.id == id
    default: false
    }
  }
}

extension StreamState where Self: ~Copyable {
  /// Takes a part of the mailbox that was read.
  mutating func take(_ page: StreamPage?, _ context: inout SessionContext) throws(SessionEnd) {
    guard let page else { throw .close(1011) }
    guard !cursor.isPaused else { return cursor.finishRead(end: nil, isLast: false) }
    for entry in page.entries where cursor.wants(entry.position) {
      guard try deliver(entry, &context) else {
        return cursor.finishRead(end: nil, isLast: false)
      }
    }
    cursor.finishRead(end: page.end, isLast: page.isLast)
  }

  /// Sends an entry of the stream, if it is known not to be this session's own.
  ///
  /// - Returns: whether it was sent.
  mutating func deliver(
    _ entry: StreamEntry, _ context: inout SessionContext
  ) throws(SessionEnd) -> Bool {
    guard making?.mayMake(entry) != true else {
      cursor.hold()
      return false
    }
    // Before it is sent: a session that ends with it has sent it.
    cursor.pass(entry.position)
    try send(entry, &context)
    return true
  }
}
