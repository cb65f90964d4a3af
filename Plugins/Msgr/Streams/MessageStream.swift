internal import HTTPProtocol
internal import HTTPServer
internal import MsgrMessages
internal import Transport

/// A device's open connection, which brings its user's messages and sends the messages that the device writes.
///
/// Unchecked because its variables are touched on its session's event loop only: by the calls of ``WebSocketHandler``, and
/// by tasks and closures that are run there.
final class MessageStream: WebSocketHandler, @unchecked Sendable {
  /// The bytes that may wait to be sent while more is read.
  static let lowWaterMark = 64 << 10
  /// The most sends that may wait for those before them; a peer with more is closed with 1008.
  private static let longestQueue = 256

  /// The token that the stream was opened with.
  let token: BoundToken
  /// The message after which the stream began.
  let start: MessageID
  private let session: WebSocketSession
  private let service: MessageService
  private var cursor: InboxCursor
  /// The messages that the peer wants sent, in order.
  private var sends: [[UInt8]] = []
  private var isSending = false
  private var isOver = false

  /// Makes a stream that begins at once.
  ///
  /// - Parameters:
  ///   - session: the connection.
  ///   - service: does the work.
  ///   - token: the token that the stream was opened with.
  ///   - position: the message after which the stream begins.
  init(
    _ session: WebSocketSession, _ service: MessageService, _ token: BoundToken,
    after position: MessageID
  ) {
    self.session = session
    self.service = service
    self.token = token
    start = position
    cursor = InboxCursor(after: position)
    service.hub.add(self)
    readOn()
  }

  // MARK: - Out

  /// Tells the stream, from any thread, that its user's inbox has news.
  func wake() {
    session.loop.execute { [self] in
      cursor.noteNews()
      readOn()
    }
  }

  func drained() { readOn() }

  private func readOn() {
    guard !isOver, let position = cursor.nextRead(isBackedUp: session.backlog > Self.lowWaterMark)
    else { return }
    Task(executorPreference: session.loop) { [self] in
      let messages = await service.read(inboxOf: token.name, after: position)
      guard !isOver else { return }
      // The peer comes again, and asks for the messages that it missed.
      guard let messages else { return session.close(1011) }
      for text in messages.texts { session.send(.text(text)) }
      cursor.finishRead(last: messages.last, mayBeMore: messages.mayBeMore)
      readOn()
    }
  }

  func pinged() { cursor.notePing() }

  func ponged() {
    if cursor.notePong() { service.confirm(cursor, of: token) }
  }

  // MARK: - In

  func received(_ message: WebSocketMessage) {
    switch message {
    case .binary: session.close(1003, reason: "text is expected")
    case .text(let text):
      guard sends.count < Self.longestQueue else {
        return session.close(1008, reason: "too many messages wait to be sent")
      }
      sends.append(text)
      sendOn()
    }
  }

  /// Sends the messages that wait one after the other, so that the replies are in order.
  private func sendOn() {
    guard !isSending, !isOver, !sends.isEmpty else { return }
    isSending = true
    let text = sends.removeFirst()
    Task(executorPreference: session.loop) { [self] in
      session.send(.text(await service.send(streamed: text, with: token.hash)))
      isSending = false
      sendOn()
    }
  }

  // MARK: - End

  /// Closes the stream, from any thread, because its token has ended.
  func end() { session.close(1008, reason: "the token has ended") }

  func closed(_ code: UInt16?) {
    isOver = true
    sends = []
    cursor.finish(inOrder: code != nil)
    service.leave(self, cursor)
  }
}
