internal import Formats
internal import Budgets
internal import Cryptography
internal import Cluster
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Platform
internal import Storage
internal import Transport

/// Carries out what a session wants done, on a WebSocket.
///
/// Unchecked because all its state is touched on its session's event loop only, by the calls of ``WebSocketHandler``, and by
/// tasks and closures that are run there; but for the login, which stays as it was when the hub took the session.
final class SessionConnection: WebSocketHandler, HubMember, @unchecked Sendable {
  /// The number of unsent bytes above which neither the stream nor requests are read.
  static let lowWaterMark = 64 << 10
  /// The longest message of version 1 that is taken before the login, in bytes.
  static let firstMessages = 4 << 10
  /// The longest message of version 2 that is taken before the login, in bytes: one with a token.
  static let firstMessagesOfVersion2 = 16 << 10

  let id: SessionID
  let loop: EventLoop
  private let socket: WebSocketSession
  private let services: SessionUseCases
  private let network: ClientNetwork?
  /// The place among the sessions of the client's network: among those that aren't logged in, then among
  /// those that are.
  private var place: Holding<ClientAccount>
  private let session: DeviceSession
  /// True if the session is one of version 1.
  var isVersion1: Bool { session.isVersion1 }
  /// The history of the store that was known when the session was opened, where other nodes share the store.
  let epoch: UInt64
  /// The longest message that is taken once the device has logged in, in bytes.
  private let longestMessage: Int
  /// The account whose session this became in the hub, or nil before that. It is set once, before the hub has the session.
  private var login: AccountLogin?
  private var isOver = false
  /// The bytes of all messages that came, of the last one, and of those that are done with.
  private var received = 0
  private var lastReceived = 0
  private var released = 0
  /// The queries under way.
  private var queries = 0

  /// Takes a connection that has just been upgraded.
  init(
    _ socket: WebSocketSession, id: SessionID, network: ClientNetwork?,
    place: Holding<ClientAccount>, services: SessionUseCases, longestMessage: Int,
    session: DeviceSession
  ) {
    self.network = network
    self.place = place
    self.socket = socket
    loop = socket.loop
    self.id = id
    self.services = services
    self.longestMessage = longestMessage
    epoch = services.nodes?.registry.epoch ?? 0
    self.session = session
    handle(.opened)
  }

  // MARK: - What happens

  var heldBytes: Int { received - released }

  func received(_ message: WebSocketMessage) {
    place.used(at: loop.now)
    lastReceived = message.bytes.count
    received += lastReceived
    handle(.received(message))
    if queries == 0 { released = received }
  }

  /// Records that a query is done, and with it all that had come when it began but what waits for it.
  private func finishQuery(begunAt mark: Int) {
    queries -= 1
    let done = session.isWaiting ? min(mark, received - lastReceived) : mark
    released = max(released, done)
    handle(.replied)
    if queries == 0 { released = received }
  }

  func timerFired() { handle(.timedOut) }

  func drained() { proceed() }

  func draining() { handle(.draining(to: services.publicURI)) }

  func closed(_ code: UInt16?) {
    isOver = true
    if let login { services.ended(id, of: login.user) }
    perform(session.handle(.ended))
  }

  /// Takes news of the user's mailbox, which other sessions have made.
  func receive(_ updates: [EntryUpdate<MailboxPosition, MailboxEntry>]) {
    for item in updates where !isOver { handle(.news(item, isBackedUp: isBackedUp)) }
    socket.flush()
  }

  /// Returns whether the login holds for the account as it is; for sessions of the hub, from any thread.
  func holds(authenticationKey: AuthenticationPublicKey, isClosed: Bool) -> Bool {
    login?.holds(authenticationKey: authenticationKey, isClosed: isClosed) ?? false
  }

  /// Closes the session because its user has too many that were opened later; from any thread.
  func evict() { loop.execute { [self] in handle(.evicted) } }

  /// Closes the session with a code; from any thread.
  func close(_ code: UInt16, reason: String) {
    loop.execute { [self] in socket.close(code, reason: reason) }
  }

  /// Closes the session because its account has no version 1 any more; from any thread. It is closed when this returns.
  func evicted() async {
    await Task(executorPreference: loop) { [self] in handle(.evicted) }.value
    services.ended(id)
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
        services.metrics.count(kind)
      case .perform(let query): perform(query)
      case .join(let login): join(login)
      case .wait(let duration): socket.setTimer(after: duration)
      case .close(let code): socket.close(code)
      case .count(let counted): count(counted)
      }
    }
  }

  /// Makes this the session of a logged-in user, if the client's network may have one more.
  private func join(_ login: AccountLogin) {
    let owner = network.map { ClientAccount($0, login.user) }
    let place = Holding(of: services.clients.sessions, for: owner) { [socket] in socket.yield() }
    place.used(at: loop.now)
    guard place.set(to: 1) else {
      socket.close(1013)
      services.ended(id)
      return perform(session.handle(.ended))
    }
    self.place = place
    self.login = login
    socket.limitMessages(to: longestMessage)
    services.hub.join(self, of: login.user)?.evict()
    services.nodes?.joined(id, of: login.user)
  }

  private func count(_ counted: SessionAction.Counted) {
    services.metrics.count(counted)
    guard counted == .refused else { return }
    services.log.info("session refused", ["client": network?.description ?? "a Unix socket"])
  }

  /// Reads the mailbox and receives messages, as far as the session and the socket can take it.
  private func proceed() {
    guard !isOver, !session.isOver else { return }
    let isBackedUp = isBackedUp
    if !isBackedUp, let login, let position = session.nextRead() { read(login, after: position) }
    if session.isWaiting, login == nil {
      // The next message may be a long one, which is taken after the login only.
      socket.stopReceiving()
    } else if session.isWaiting || isBackedUp {
      socket.pauseReceiving()
    } else {
      socket.resumeReceiving()
    }
  }

  private var isBackedUp: Bool { socket.backlog > Self.lowWaterMark }

  private func perform(_ query: Query) {
    let requester = Requester(session: id, network: network, login: login)
    queries += 1
    let mark = received
    Task(executorPreference: loop) { [self] in
      // Held as long as the task holds the messages.
      let charge = socket.charge
      await WorkOwner.$current.withValue(requester.owner) {
        await services.perform(query, for: requester)
      }
      withExtendedLifetime(charge) {}
      // It may have locked a file after the end.
      if isOver { services.ended(id) }
      finishQuery(begunAt: mark)
    }
  }

  private func read(_ login: AccountLogin, after position: MailboxPosition) {
    Task(executorPreference: loop) { [self] in
      let owner = WorkOwner(client: network, account: login.user)
      let page = await WorkOwner.$current.withValue(owner) {
        await services.page(for: login, after: position)
      }
      guard !isOver else { return }
      handle(.read(page))
    }
  }
}

extension WebSocketSession {
  /// Closes the session because its place was given to somebody who holds less; from any thread.
  func yield() {
    loop.execute { [self] in close(1013, reason: "too many sessions from this address") }
  }
}
