internal import HTTPProtocol
internal import HTTPServer
internal import MsgrMessages

/// A device's open connection, which brings its user's messages and sends the messages that the device writes.
///
/// Unchecked because all its state is touched on its session's event loop only: by the calls of ``WebSocketHandler``, and
/// by tasks and closures that are run there.
final class MessageStream: WebSocketHandler, @unchecked Sendable {
  /// The most sends that may wait for those before them; a peer with more is closed with 1008.
  private static let longestQueue = 256

  private let session: WebSocketSession
  private let service: MessageService
  private let token: BoundToken
  private let lowWaterMark: Int
  private var listener: StreamHub.ListenerID?
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
  ///   - lowWaterMark: the bytes that may wait to be sent while more is read.
  init(
    _ session: WebSocketSession, _ service: MessageService, _ token: BoundToken,
    after position: MessageID, lowWaterMark: Int
  ) {
    self.session = session
    self.service = service
    self.token = token
    self.lowWaterMark = lowWaterMark
    cursor = InboxCursor(after: position)
    // The hub holds the stream until it is over.
    listener = service.join(
      StreamHub.Listener(
        token: token, start: position,
        wake: { [self] in session.loop.execute { self.wake() } },
        end: { session.close(1008, reason: "the token has ended") }))
    readOn()
  }

  // MARK: - Out

  private func wake() {
    cursor.noteNews()
    readOn()
  }

  func drained() { readOn() }

  private func readOn() {
    guard !isOver, let position = cursor.nextRead(isBackedUp: session.backlog > lowWaterMark)
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

  func closed(_ code: UInt16?) {
    isOver = true
    sends = []
    cursor.finish(inOrder: code != nil)
    if let listener { service.leave(listener, cursor, of: token) }
  }
}
