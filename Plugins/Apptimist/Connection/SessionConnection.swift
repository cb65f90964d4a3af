internal import ApptimistSession
internal import Cryptography
internal import HTTPProtocol
internal import HTTPServer
internal import Transport

/// Carries out what a ``Session`` wants done, on a WebSocket.
///
/// Unchecked because all its state is touched on its session's event loop only: by the calls of
/// ``WebSocketHandler``, and by tasks and closures that are run there.
final class SessionConnection: WebSocketHandler, @unchecked Sendable {
  /// The number of unsent bytes above which neither the stream nor requests are read.
  static let lowWaterMark = 64 << 10

  let id: SessionID
  let loop: EventLoop
  private let socket: WebSocketSession
  private let backend: Backend
  private var session: Session
  /// The user whose session this became in the hub, or nil before that.
  private var user: EncryptionPublicKey?
  private var isOver = false

  /// Takes a connection that has just been upgraded.
  init(_ socket: WebSocketSession, id: SessionID, backend: Backend, session: consuming Session) {
    self.socket = socket
    loop = socket.loop
    self.id = id
    self.backend = backend
    self.session = session
    handle(.opened)
  }

  // MARK: - What happens

  func received(_ message: WebSocketMessage) { handle(.received(message)) }

  func timerFired() { handle(.timedOut) }

  func drained() { proceed() }

  func draining() { handle(.draining(to: backend.publicURI)) }

  func closed(_ code: UInt16?) {
    isOver = true
    if let user { backend.ended(id, of: user) }
    perform(session.handle(.ended))
  }

  /// Delivers further entries of the user's mailbox, which this session didn't make; called on its
  /// loop.
  func queued(_ entries: [StreamEntry]) {
    for entry in entries where !isOver { handle(.queued(entry, isBackedUp: isBackedUp)) }
    socket.flush()
  }

  /// Closes the session because its user has too many that were opened later; from any thread.
  func evict() {
    loop.execute { [self] in handle(.evicted) }
  }

  // MARK: - What is done

  private func handle(_ event: SessionEvent) {
    perform(session.handle(event))
    proceed()
  }

  private func perform(_ actions: SessionActions) {
    for action in actions {
      switch action {
      case .send(let message, let kind):
        socket.send(.binary(message))
        backend.metrics.count(kind)
      case .ask(let query): ask(query)
      case .join(let user):
        self.user = user
        backend.hub.join(self, of: user)?.evict()
      case .wait(let duration): socket.setTimer(after: duration)
      case .close(let code): socket.close(code)
      case .count(let counted): backend.metrics.count(counted)
      }
    }
  }

  /// Reads the mailbox and receives messages, as far as the session and the socket can take it.
  private func proceed() {
    guard !isOver, !session.isOver else { return }
    let isBackedUp = isBackedUp
    if !isBackedUp, let user = session.user, let position = session.nextRead() {
      read(user, after: position)
    }
    if session.isWaiting || isBackedUp {
      socket.pauseReceiving()
    } else {
      socket.resumeReceiving()
    }
  }

  private var isBackedUp: Bool { socket.backlog > Self.lowWaterMark }

  private func ask(_ query: Query) {
    Task(executorPreference: loop) { [self] in
      let reply = await backend.reply(to: query, in: id)
      // It may have locked a file after the end.
      if isOver { backend.files.ended(id) }
      handle(.replied(reply))
    }
  }

  private func read(_ user: EncryptionPublicKey, after position: StreamPosition) {
    Task(executorPreference: loop) { [self] in
      let page = await backend.page(of: user, after: position)
      guard !isOver else { return }
      handle(.read(page))
    }
  }
}
