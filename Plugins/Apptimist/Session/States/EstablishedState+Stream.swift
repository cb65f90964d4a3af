internal import ApptimistProtocol

// The stream.
extension EstablishedState {
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
    guard !mayBeOwn(entry) else {
      cursor.hold()
      return false
    }
    // Before it is sent: a session that ends with it has sent it.
    cursor.pass(entry.position)
    switch entry.content {
    case .message(let header, let data): try channel.send(header: header, data: data, &context)
    case .truncation: try channel.send(.truncate(PDU.Truncate(message: entry.id)), &context)
    }
    return true
  }

  /// Whether the entry may be one that the open query is making.
  private func mayBeOwn(_ entry: StreamEntry) -> Bool {
    switch (request, entry.content) {
    case (.posts(let posting), .message(let header, _)):
      // A copy from a forum differs in its recipient.
      posting.posts.contains { PDU.Message.isSame($0.header, header) }
    case (.truncation(let id), .truncation): entry.id == id
    default: false
    }
  }
}
