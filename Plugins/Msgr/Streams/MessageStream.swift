internal import Cluster
internal import HTTPProtocol
internal import HTTPServer
internal import Storage
internal import Transport

/// A message as streams bring it.
struct StreamedMessage: Sendable {
  let json: [UInt8]
  /// The device that has sent the message, if it is an own one; its streams don't bring it.
  let origin: DeviceID?

  /// Makes what streams bring of a message.
  init(_ message: Message) throws {
    json = try JSONText.of(message)
    origin = message.origin
  }
}

/// Messages of a user's log in their order.
struct LogPage: Sendable {
  let entries: [(id: MessageID, message: StreamedMessage)]
  /// True if there was nothing after the last one.
  let isLast: Bool
}

/// A device's open connection, which brings its user's messages and sends the messages that the device writes.
///
/// Unchecked because its variables are touched on its session's event loop only: by the calls of ``WebSocketHandler``, and
/// by tasks and closures that are run there.
final class MessageStream: WebSocketHandler, HubMember, @unchecked Sendable {
  /// The bytes that may wait to be sent while more is read.
  static let lowWaterMark = 64 << 10
  /// The bytes of sends that may wait for those before them; then no more are received until fewer wait.
  private static let longestQueue = 16 << 10
  /// The bytes that a send takes beside its text.
  private static let sendOverhead = 64

  /// The number of the stream on this node.
  let id: Int64
  /// The token that the stream was opened with.
  let token: BoundToken
  /// The message after which the stream began.
  let start: MessageID
  private let session: WebSocketSession
  private let service: MessageService
  private let place: StreamPlace
  private let owner: WorkOwner?
  private var cursor: Cursor<MessageID>
  /// The last message that the peer is known to have.
  private var confirmed: MessageID
  /// The last message that was sent before the last ping.
  private var lastPinged: MessageID
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
    (self.session, self.service) = (session, service)
    id = beginning.id
    token = beginning.token
    start = beginning.start
    place = beginning.place
    owner = beginning.owner
    cursor = Cursor(after: beginning.start)
    confirmed = beginning.start
    lastPinged = beginning.start
    place.occupy(session)
    place.used(at: session.loop.now)
    // At once, as its peer may let the close handshake last.
    service.hub.join(self, of: token.name)?.end("the account has newer streams")
    readOn()
  }

  /// The event loop of the connection.
  var loop: EventLoop { session.loop }

  // MARK: - Out

  /// Sends the messages that come next, and reads on if others are between; called on the loop.
  func take(_ news: [EntryUpdate<MessageID, StreamedMessage>]) {
    guard !isOver else { return }
    for news in news {
      guard let entry = cursor.note(news, isReady: !isBackedUp) else { continue }
      cursor.pass(entry.position)
      send(entry.content)
    }
    readOn()
  }

  private func send(_ message: StreamedMessage) {
    if message.origin != token.device { session.send(.text(message.json)) }
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

  private func readOn() {
    guard !isOver, !isBackedUp, let position = cursor.nextRead() else { return }
    Task(executorPreference: session.loop) { [self] in
      let page = await WorkOwner.$current.withValue(owner) {
        await service.read(logOf: token.name, after: position)
      }
      guard !isOver else { return }
      guard let page else { return fail() }
      for (id, message) in page.entries where cursor.wants(id) {
        cursor.pass(id)
        send(message)
      }
      cursor.finishRead(end: page.entries.last?.id ?? position, isLast: page.isLast)
      readOn()
    }
  }

  func pinged() { lastPinged = cursor.position }

  func ponged() {
    place.used(at: session.loop.now)
    guard lastPinged > confirmed else { return }
    confirmed = lastPinged
    service.confirm(progress, of: token)
  }

  private var progress: StreamProgress {
    StreamProgress(start: start, sent: cursor.position, confirmed: confirmed)
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

  /// Closes the stream because its user's log can't be read: the peer comes again, and asks for the messages that it missed.
  private func fail() { session.close(1011) }

  func closed(_ code: UInt16?) {
    isOver = true
    sends = []
    place.leave()
    // A peer that took part in closing has seen everything before.
    if code != nil { confirmed = cursor.position }
    service.leave(self, progress)
  }
}
