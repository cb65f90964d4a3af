internal import Cluster
internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Push
internal import Routing
internal import Platform
internal import Storage
internal import Transport

/// A message as streams bring it.
struct StreamedMessage: Sendable {
  let json: [UInt8]
  /// The message, if Gotify's clients see it.
  let numbered: Message?
  /// The device that has sent the message, if it is an own one; its streams don't bring it.
  let origin: DeviceID?

  /// Makes what streams bring of a message.
  init(_ message: Message) throws {
    json = try JSONText.of(message)
    numbered = message.number == nil ? nil : message
    origin = message.origin
  }
}

/// Messages of a user's log in their order.
struct LogPage: Sendable {
  let entries: [(id: MsgrMessageID, message: StreamedMessage)]
  /// True if there was nothing after the last one.
  let isLast: Bool
  /// True if some were left out, as they are long.
  let isCut: Bool
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

  /// The time for which a stream waits whose send was one too many, so that refusing costs little.
  private static let pauseOfRefused = Duration.milliseconds(20)

  /// The number of the stream on this node.
  let id: Int64
  /// The token that the stream was opened with.
  let token: BoundToken
  /// The message after which the stream began.
  let start: MsgrMessageID
  private let session: WebSocketSession
  private let service: MessageService
  private let place: MessageStreamSlot
  private let owner: WorkOwner?
  /// Writes a message in the form of another program's clients, which send nothing; nil for Msgr's own.
  private let dialect: (@Sendable (Message) -> [UInt8])?
  private var cursor: Cursor<MsgrMessageID>
  /// The last message that the peer is known to have.
  private var confirmed: MsgrMessageID
  /// The last message that was sent before the last ping.
  private var lastPinged: MsgrMessageID
  /// The messages that the peer wants sent, in order.
  private var sends: [[UInt8]] = []
  /// The bytes of `sends`.
  private var waitingBytes = 0
  private var isSending = false
  /// The messages that are read at once: fewer where they are long.
  private var pageSize = 16
  private var isPaused = false
  private var isOver = false

  /// Makes a stream that begins at once.
  ///
  /// - Parameter beginning: whose stream it is, and where it begins.
  init(
    _ session: WebSocketSession, _ service: MessageService, _ beginning: MessageStreamStart,
    dialect: (@Sendable (Message) -> [UInt8])? = nil
  ) {
    self.session = session
    self.dialect = dialect
    self.service = service
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
  func receive(_ updates: [EntryUpdate<MsgrMessageID, StreamedMessage>]) {
    guard !isOver else { return }
    for update in updates {
      guard let entry = cursor.apply(update, isReady: !isBackedUp) else { continue }
      cursor.pass(entry.position)
      send(entry.content)
    }
    readOn()
  }

  private func send(_ message: StreamedMessage) {
    if let dialect {
      if let numbered = message.numbered { session.send(.text(dialect(numbered))) }
      return
    }
    if message.origin != token.device { session.send(.text(message.json)) }
  }

  /// Sends a notice that nothing depends on, from any thread; a slow peer isn't given it.
  func show(_ notice: [UInt8]) {
    session.loop.execute { [self] in
      guard !isOver, !isBackedUp, dialect == nil else { return }
      session.send(.text(notice))
    }
  }

  private var isBackedUp: Bool { session.backlog > Self.lowWaterMark }

  func drained() {
    readOn()
    sendOn()
  }

  private func readOn() {
    guard !isOver, !isBackedUp, let position = cursor.nextRead() else { return }
    Task(executorPreference: session.loop) { [self] in
      let page = await WorkOwner.$current.withValue(owner) {
        await service.read(logOf: token.name, after: position, atMost: pageSize)
      }
      guard !isOver else { return }
      guard let page else { return fail() }
      for (id, message) in page.entries where cursor.wants(id) {
        cursor.pass(id)
        send(message)
      }
      pageSize =
        page.isCut
        ? max(1, page.entries.count) : min(MsgrStore.pageSize, pageSize * 2)
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

  private var progress: MessageStreamProgress {
    MessageStreamProgress(start: start, sent: cursor.position, confirmed: confirmed)
  }

  // MARK: - In

  func received(_ message: WebSocketMessage) {
    guard dialect == nil else { return }
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
    // A peer that doesn't read its replies gets no further ones.
    guard !isSending, !isOver, !isBackedUp, !sends.isEmpty else { return }
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
      session.send(.text(reply.json))
      if reply.isTooMany { try? await Task.sleep(for: Self.pauseOfRefused) }
      isSending = false
      sendOn()
    }
  }

  // MARK: - End

  /// Closes the stream, from any thread, because it isn't allowed any more.
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

extension MsgrRoutes {
  /// The subprotocol of browsers, whose pages can't give a stream an `Authorization` field.
  private static let subprotocol = "msgr.1"
  /// The start of the offered subprotocol that is no other than the token.
  private static let tokenPrefix = "bearer."

  /// Accepts a stream, or throws the error that refuses it.
  func acceptStream(_ request: Request) async throws -> WebSocketAcceptance {
    _ = try origins.check(request.head)
    do {
      let offers = Self.offers(request.head)
      guard let hash = Self.token(request.head, offers) else { throw RequestRefusal.forbidden }
      let client = request.origin.client
      let position: MsgrMessageID?
      do {
        position = try Self.position(request)
      } catch {
        try await service.confirm(.token(hash, claiming: nil))
        throw error
      }
      let beginning = try await service.beginStream(hash, since: position, from: client)
      var acceptance = WebSocketAcceptance { [service] session in
        MessageStream(session, service, beginning)
      }
      if offers.contains(Self.subprotocol) { acceptance.subprotocol = Self.subprotocol }
      acceptance.limits.maximumMessage = Self.messageLimit
      acceptance.lowWaterMark = MessageStream.lowWaterMark
      acceptance.highWaterMark = 2 << 20
      acceptance.limits.pingInterval = streamPing
      return acceptance
    } catch { throw HTTPError(refusing: error) ?? error }
  }

  private static func offers(_ head: RequestHead) -> [String] {
    (head.value(.secWebSocketProtocol) ?? "").split { ", \t".contains($0) }.map(String.init)
  }

  /// Finds the token: in `Authorization`, or among the subprotocols if the one for that is offered too.
  private static func token(_ head: RequestHead, _ offers: [String]) -> TokenHash? {
    if let field = head.first(.authorization) { return BearerToken.hash(inAuthorization: field) }
    guard offers.contains(subprotocol),
      let offer = offers.first(where: { $0.hasPrefix(tokenPrefix) })
    else { return nil }
    return BearerToken.hash(ofText: Array(offer.utf8.dropFirst(tokenPrefix.utf8.count)))
  }

  /// Returns the message after which the query says that the stream begins.
  private static func position(_ request: Request) throws(FieldError) -> MsgrMessageID? {
    guard let query = request.head.query else { return nil }
    guard let form = URLEncodedForm(query) else { throw FieldError(.since, "is malformed") }
    return try form["since"].map { text throws(FieldError) in
      try MsgrMessageID(text, in: .since)
    }
  }
}

/// The beginning of a stream: whose it is, and where it begins.
struct MessageStreamStart: Sendable {
  /// The number of the stream on this node.
  let id: Int64
  /// The token of the peer.
  let token: BoundToken
  /// The message after which the stream begins.
  let start: MsgrMessageID
  /// The place of the stream in the share of the peer's network.
  let place: MessageStreamSlot
  /// The owner of the work that the stream makes.
  let owner: WorkOwner?
}

extension MessageService {
  /// Identifies the peer of a stream, and decides where the stream begins.
  ///
  /// - Parameter position: the message that the peer has come to, or nil if it wants new messages only.
  func beginStream(
    _ hash: TokenHash, since position: MsgrMessageID?, from network: ClientNetwork?
  ) async throws -> MessageStreamStart {
    let (token, tail) = try await authenticator.perform(as: .token(hash, claiming: nil)) { caller in
      guard case .token(let token) = caller else { throw RequestRefusal.forbidden }
      return (token, try await store.lastID(as: caller))
    }
    let place = try slots.acquire(for: network, token.name)
    if let position { try await store.recordSeen(upTo: position, by: token.name) }
    let id = newStream()
    let start = position ?? tail
    // Before its messages come. Without a stream in the end, the node forgets it when it looks for the second time.
    try await store.begin(id, of: token, after: start)
    return MessageStreamStart(
      id: id, token: token, start: start, place: place,
      owner: WorkOwner(client: network, account: token.name))
  }

  /// The bytes of a page after which no further message is taken in, so that slow readers of long messages hold little.
  private static let longestPage = 64 << 10

  /// Reads on in a user's log.
  ///
  /// - Returns: the messages after a position, or nil if they can't be read, which is logged.
  func read(
    logOf name: UserName, after position: MsgrMessageID, atMost count: Int
  ) async -> LogPage? {
    do {
      let page = try await store.log(of: name, after: position, atMost: count)
      var entries: [(id: MsgrMessageID, message: StreamedMessage)] = []
      var length = 0
      for message in page.entries where length < Self.longestPage {
        let streamed = try StreamedMessage(message)
        length += streamed.json.count
        entries.append((message.id, streamed))
      }
      let isCut = page.isCut || entries.count < page.entries.count
      return LogPage(
        entries: entries, isLast: !isCut && entries.count < count, isCut: isCut)
    } catch {
      log.error("stream ended: its inbox can't be read", ["cause": "\(error)"])
      return nil
    }
  }

  /// Records which messages a stream's peer has, so that they need no push.
  func confirm(_ progress: MessageStreamProgress, of token: BoundToken) {
    Task { await recordProgress(progress, of: token) }
  }

  /// Removes a stream that is over, and has the messages pushed that it may not have delivered.
  func leave(_ stream: MessageStream, _ progress: MessageStreamProgress) {
    hub.leave(stream.id, of: stream.token.name)
    Task { [id = stream.id, token = stream.token] in
      await recordProgress(progress, of: token, ending: id)
      pushes.wake(store.pushes.kinds)
    }
  }

  private func recordProgress(
    _ progress: MessageStreamProgress, of token: BoundToken, ending stream: Int64? = nil
  ) async {
    do {
      try await store.recordProgress(progress, of: token, ending: stream)
    } catch {
      // A push is held for a while only: at worst one is sent for a message that the peer has.
      log.warning("delivered messages of a stream could not be recorded", ["cause": "\(error)"])
    }
  }

  // MARK: - Sends

  private struct NotSent: Encodable {
    let error: String
    var field: String?
    let status: Int
  }

  /// Sends a message that came on a stream.
  ///
  /// - Parameters:
  ///   - text: `{"UserTo","Message","ClientId"?}`.
  ///   - token: the hash of the token that the stream was opened with.
  /// - Returns: the reply in JSON, `{"Id","Own"?}` or `{"error","status"}`, and whether the message was one too many.
  func send(
    streamed text: [UInt8], with token: TokenHash
  ) async -> (json: [UInt8], isTooMany: Bool) {
    do {
      let fields = try FieldValues(json: text)
      let delivery = try await send(
        try Draft(fields),
        by: .token(token, claiming: fields.has(.userFrom) ? try fields.name(.userFrom) : nil))
      return (delivery.json, false)
    } catch {
      let failure = HTTPError(refusing: error) ?? failure(of: error)
      let refusal = NotSent(
        error: failure.message, field: failure.members["field"], status: Int(failure.status.code))
      // Text can always be encoded.
      return ((try? JSONText.of(refusal)) ?? [], failure.status == .tooManyRequests)
    }
  }

  private func failure(of error: any Error) -> HTTPError {
    log.error("a streamed message was refused by the store", ["cause": "\(error)"])
    let isUnavailable = (error as? StoreError)?.isUnavailable ?? false
    return HTTPError(isUnavailable ? .serviceUnavailable : .internalServerError)
  }
}
