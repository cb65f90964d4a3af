internal import HTTPProtocol
internal import HTTPServer
internal import MsgrProtocol
internal import Storage
internal import Transport

/// A device's open connection, which brings its user's messages and sends the messages that the device writes.
///
/// Unchecked because its variables are touched on its session's event loop only: by the calls of ``WebSocketHandler``, and
/// by tasks and closures that are run there.
final class MessageStream: WebSocketHandler, @unchecked Sendable {
  /// The bytes that may wait to be sent while more is read.
  static let lowWaterMark = 64 << 10
  /// The bytes of sends that may wait for those before them; then no more are received until fewer wait.
  private static let longestQueue = 16 << 10
  /// The bytes that a send takes beside its text.
  private static let sendOverhead = 64

  /// The stream among those of all nodes.
  let id: MsgrStore.NodeStream
  /// The token that the stream was opened with.
  let token: BoundToken
  /// The message after which the stream began.
  let start: MessageID
  private let session: WebSocketSession
  private let service: MessageService
  private let place: StreamPlace
  private let owner: WorkOwner?
  private var cursor: InboxCursor
  /// The messages that the peer wants sent, in order.
  private var sends: [[UInt8]] = []
  /// The bytes of `sends`.
  private var waitingBytes = 0
  private var isSending = false
  private var isPaused = false
  private var isOver = false

  /// Makes a stream that begins at once.
  ///
  /// - Parameters:
  ///   - session: the connection.
  ///   - service: does the work.
  ///   - beginning: whose stream it is, and where it begins.
  init(_ session: WebSocketSession, _ service: MessageService, _ beginning: StreamBeginning) {
    self.session = session
    self.service = service
    id = beginning.id
    token = beginning.token
    start = beginning.start
    place = beginning.place
    owner = beginning.owner
    cursor = InboxCursor(after: beginning.start)
    place.occupy(session)
    place.used(at: session.loop.now)
    service.hub.add(self, tail: beginning.tail)
    readOn()
  }

  /// The event loop of the connection.
  var loop: EventLoop { session.loop }

  // MARK: - Out

  /// Gives the stream, from any thread, the messages that were read for all streams of its user.
  func take(_ page: InboxPage) {
    session.loop.execute { [self] in
      guard !isOver, let last = page.last else { return }
      guard
        let position = cursor.takePage(after: page.position, upTo: last, isBackedUp: isBackedUp)
      else { return readOn() }
      send(page, after: position)
    }
  }

  private func send(_ page: InboxPage, after position: MessageID) {
    for entry in page.entries where entry.id > position && entry.origin != token.device {
      session.send(.text(entry.json))
    }
  }

  /// Sends a notice that nothing depends on, from any thread; a slow peer isn't given it.
  func tell(_ notice: [UInt8]) {
    session.loop.execute { [self] in
      guard !isOver, !isBackedUp else { return }
      session.send(.text(notice))
    }
  }

  private var isBackedUp: Bool { session.backlog > Self.lowWaterMark }

  func drained() { readOn() }

  /// Reads on by itself.
  private func readOn() {
    guard !isOver, let position = cursor.nextRead(isBackedUp: isBackedUp) else { return }
    let tail = service.hub.feed(of: token.name)?.position ?? .zero
    Task(executorPreference: session.loop) { [self] in
      let page = await WorkOwner.$current.withValue(owner) {
        await service.read(inboxOf: token.name, after: position)
      }
      guard !isOver else { return }
      guard let page else { return fail() }
      send(page, after: position)
      cursor.finishRead(last: page.last, mayBeMore: page.mayBeMore, tail: tail)
      readOn()
    }
  }

  func pinged() { cursor.notePing() }

  func ponged() {
    place.used(at: session.loop.now)
    if cursor.notePong() { service.confirm(cursor, of: token) }
  }

  // MARK: - In

  func received(_ message: WebSocketMessage) {
    switch message {
    case .binary: session.close(1003, reason: "text is expected")
    case .text(let text):
      place.used(at: session.loop.now)
      sends.append(text)
      waitingBytes += text.count + Self.sendOverhead
      sendOn()
      if waitingBytes > Self.longestQueue, !isPaused {
        isPaused = true
        session.pauseReceiving()
      }
    }
  }

  /// Sends the messages that wait one after the other, so that the replies are in order.
  private func sendOn() {
    guard !isSending, !isOver, !sends.isEmpty else { return }
    isSending = true
    let text = sends.removeFirst()
    waitingBytes -= text.count + Self.sendOverhead
    if waitingBytes <= Self.longestQueue, isPaused {
      isPaused = false
      session.resumeReceiving()
    }
    Task(executorPreference: session.loop) { [self] in
      let reply = await WorkOwner.$current.withValue(owner) {
        await service.send(streamed: text, with: token.hash)
      }
      session.send(.text(reply))
      isSending = false
      sendOn()
    }
  }

  // MARK: - End

  /// Closes the stream, from any thread, because it isn't allowed any more.
  ///
  /// - Parameter reason: the reason in words for the peer.
  func end(_ reason: String) { session.close(1008, reason: reason) }

  /// Closes the stream, from any thread, because its inbox can't be read: the peer comes again, and asks for the messages
  /// that it missed.
  func fail() { session.close(1011) }

  func closed(_ code: UInt16?) {
    isOver = true
    sends = []
    place.leave()
    cursor.finish(inOrder: code != nil)
    service.leave(self, cursor)
  }
}
