internal import Cryptography
internal import HTTPProtocol
internal import HTTPServer

/// Carries out what a ``Session`` says, on a WebSocket.
///
/// Unchecked because all its state is touched on its session's event loop only: by the calls of
/// ``WebSocketHandler``, and by tasks and closures that are run there.
final class DeviceConnection: WebSocketHandler, @unchecked Sendable {
  /// Above how many unsent bytes neither the stream nor requests are read.
  static let lowWaterMark = 64 << 10

  let id: SessionID
  let loop: EventLoop
  private let socket: WebSocketSession
  private let backend: Backend
  private var session: Session
  private var isOver = false

  /// A connection that has just been upgraded.
  init(_ socket: WebSocketSession, id: SessionID, backend: Backend, session: consuming Session) {
    self.socket = socket
    loop = socket.loop
    self.id = id
    self.backend = backend
    self.session = session
    perform(self.session.opened())
  }

  // MARK: - What happens

  func received(_ message: WebSocketMessage) { perform(session.received(message)) }

  func timerFired() { perform(session.timeIsOver()) }

  func drained() { perform([]) }

  func draining() {
    perform(session.draining(to: backend.publicURI))
  }

  func closed(_ code: UInt16?) {
    isOver = true
    backend.ended(id, user: session.account?.key)
    session.ended()
  }

  /// The user's queue has further entries, which this session didn't make; called on its loop.
  func queued(_ entries: [StreamEntry]) {
    for entry in entries where !isOver {
      session.isBackedUp = socket.backlog > Self.lowWaterMark
      perform(session.queued(entry))
    }
    socket.flush()
  }

  /// The user has too many sessions that were opened later; from any thread.
  func evict() {
    loop.execute { [self] in perform(session.evicted()) }
  }

  // MARK: - What is done

  private func perform(_ actions: [SessionAction]) {
    for action in actions {
      switch action {
      case .send(let message): socket.send(.binary(message))
      case .ask(let question): ask(question)
      case .join(let user):
        backend.hub.join(Hub.Member(id: id, connection: self), of: user)?.connection.evict()
      case .wait(let duration): socket.setTimer(after: duration)
      case .close(let code): socket.close(code)
      }
    }
    guard !isOver, !session.isOver else { return }
    session.isBackedUp = socket.backlog > Self.lowWaterMark
    readOn()
    if session.isWaiting || session.isBackedUp {
      socket.pauseReceiving()
    } else {
      socket.resumeReceiving()
    }
  }

  private func ask(_ question: Question) {
    Task(executorPreference: loop) { [self] in
      let answer = await backend.answer(question, of: session.setup.ephemeralKey, in: id)
      // It may have locked a file after the end.
      if isOver { backend.files.ended(id) }
      perform(session.answered(answer))
    }
  }

  /// Reads the user's queue if it is time to.
  private func readOn() {
    guard let user = session.user, let position = session.nextRead() else { return }
    Task(executorPreference: loop) { [self] in
      let page = await backend.page(of: user, after: position)
      guard !isOver else { return }
      perform(session.read(page))
    }
  }
}
