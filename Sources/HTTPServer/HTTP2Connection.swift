internal import CNghttp2
internal import HTTPProtocol
internal import Time
internal import Transport

/// HTTP/2 on a connection: many requests at a time, each planned and responded to as in HTTP/1.1.
final class HTTP2Connection: ServedProtocol {
  /// The connection releases this object when it ends, which breaks the cycle.
  let connection: Connection
  let peer: Peer
  let loop: EventLoop
  let server: ServerLoop
  var session: HTTP2Session?
  var streams: [Int32: HTTP2Stream] = [:]
  var allowance: HTTP2Allowance
  /// The number of handlers' tasks, including those whose streams were cancelled.
  var runningTasks = 0
  /// The number of streams whose response is not sent whole.
  var responding = 0
  /// The number of bytes of responses' bodies that wait to be sent.
  var untaken = 0
  /// The whole requests that wait until there are fewer.
  var waiting: [Int32] = []
  /// The memory of the connection, and of its streams unless the peer is a proxy.
  let memory: MemoryCharge
  /// The memory of the clients of a proxy's connection.
  var clientMemory: [ChargeOwner: MemoryCharge] = [:]
  /// The unsent bytes that are charged.
  private var chargedBacklog = 0
  var hadRequest = false
  /// Whether nghttp2 was stopped within a head, and whether that is because the turn of others hasn't come yet.
  private var isPaused = false
  private var awaitsTurn = false
  /// The input that came since then.
  private var leftover: [UInt8] = []
  /// The bytes of header fields that were taken in this turn.
  var takenFields = 0
  /// The number of bytes of requests that came after their responses, since there was no stream.
  var discarded = 0
  private var peerHasEnded = false
  /// The moment at which the peer was told that the end is near.
  private(set) var leavingSince: Int64?
  private(set) var isLastStreamSaid = false
  /// The moment at which the last stream ended.
  var idleSince: Int64
  /// The moment at which the header block that is coming in began, and the number of its CONTINUATION frames.
  var blockSince: Int64?
  var continuations = 0
  /// The size of the trailer that is coming in, in bytes.
  var trailerSize = 0
  /// The number of bytes of responses' bodies that were sent, and the measure of their rate.
  var sentBody = 0
  private var sentWindow = RateWindow()

  /// The number of unsent bytes above which no frame is made, and none is read. With a frame more they fit into a
  /// loop's buffer.
  static let outputLimit = 40 << 10
  /// The number of bytes of header fields after which others have their turns. A few bytes of HPACK make thousands.
  private static let turnLimit = 128 << 10
  /// The number of bytes of untaken responses above which no request is begun.
  static let untakenLimit = 1 << 20
  /// The time in which the peer should acknowledge the PING behind the notice of the end, in milliseconds.
  private static let noticeTimeout: Int64 = 1_000
  /// The time in which the rest of a request may come after its response, in milliseconds.
  static let lingerTimeout: Int64 = 2_000
  /// The number of bytes of requests that may come after their responses, until there is no stream.
  static let discardLimit = 16 << 20

  /// - Returns: nil when memory is short.
  init?(_ connection: Connection, _ peer: Peer, _ server: ServerLoop) {
    self.connection = connection
    self.peer = peer
    memory = peer.makeCharge(to: peer.owner)
    self.server = server
    loop = connection.loop
    allowance = HTTP2Allowance(now: loop.now)
    idleSince = loop.now
    session = HTTP2Session(for: self, headerListSize: server.core.limits.head)
    guard session != nil else { return nil }
    pump()
  }

  // MARK: - Bytes

  func received(_ input: RawSpan) {
    peer.used()
    guard !isPaused else {
      // TLS may give more in the same turn.
      return unsafe input.withUnsafeBytes { unsafe leftover.append(contentsOf: $0) }
    }
    process(input)
  }

  /// Whether others are to have their turns.
  var isTurnOver: Bool { takenFields >= HTTP2Connection.turnLimit }

  /// Takes as much of the input as one turn allows.
  private func process(_ input: RawSpan) {
    guard let session else { return }
    takenFields = 0
    isPaused = false
    let taken = session.receive(input)
    if taken < 0 {
      switch nghttp2_error(Int32(clamping: taken)) {
      case NGHTTP2_ERR_FLOODED, NGHTTP2_ERR_TOO_MANY_CONTINUATIONS: enhanceYourCalm()
      // The peer has been told by the callback that refused.
      case NGHTTP2_ERR_CALLBACK_FAILURE: break
      default: session.terminate(NGHTTP2_PROTOCOL_ERROR)
      }
    }
    if taken >= 0, isTurnOver {
      unsafe input.extracting(taken...).withUnsafeBytes {
        unsafe leftover.append(contentsOf: $0)
      }
      (isPaused, awaitsTurn) = (true, true)
      connection.awaitTurn()
    }
    pump()
    if taken < 0 { return connection.finish() }
    if isPaused { connection.pauseReading() }
  }

  func outputWaits() {
    // Not before: most often the socket takes all at the end of the turn.
    if connection.backlog >= HTTP2Connection.outputLimit { connection.pauseReading() }
  }

  func turnCame() {
    awaitsTurn = false
    goOn()
  }

  /// Takes the input that waited, or reads again, if the peer takes what it is sent.
  private func goOn() {
    guard connection.isOpen, !awaitsTurn, connection.backlog < HTTP2Connection.outputLimit else {
      return
    }
    if isPaused {
      // Also if none came: nghttp2 may have the end of a head to tell.
      let input = exchange(&leftover, with: [])
      unsafe process(input.span.bytes)
    }
    if !isPaused, connection.isOpen, connection.backlog < HTTP2Connection.outputLimit {
      connection.resumeReading()
    }
  }

  func peerEnded() {
    peerHasEnded = true
    finishIfDone()
  }

  func drained() {
    pump()
    goOn()
  }

  /// Writes nghttp2's frames, as many as the peer takes.
  func pump() {
    guard let session else { return }
    while connection.isOpen, connection.backlog < HTTP2Connection.outputLimit {
      let hadMore = unsafe session.withNextOutput { bytes in
        connection.stage { unsafe $0.append(contentsOf: bytes) }
      }
      beginWaitingRequests()
      guard hadMore else { break }
    }
    finishIfDone()
  }

  private func finishIfDone() {
    guard connection.isOpen, !isPaused, let session else { return }
    let isDone = streams.isEmpty && (peerHasEnded || isLastStreamSaid)
    if isDone || session.isOver { connection.finish() }
  }

  // MARK: - Time

  func tick() {
    guard !connection.isStalled, isBacklogCharged else { return connection.cut() }
    let options = server.core.options
    let now = loop.now
    endLingeringStreams()
    if let leavingSince, !isLastStreamSaid, now - leavingSince > HTTP2Connection.noticeTimeout {
      refuseFurtherStreams()
      return pump()
    }
    if let blockSince, now - blockSince > options.headerTimeout.milliseconds {
      enhanceYourCalm()
      return pump()
    }
    guard connection.backlog == 0 else {
      // The peer reads, and fast enough by the connection's measure.
      idleSince = now
      return beginWindow()
    }
    if streams.isEmpty {
      let limit = hadRequest ? options.idleTimeout : options.headerTimeout
      guard now - idleSince > limit.milliseconds else { return }
      session?.terminate(NGHTTP2_NO_ERROR)
      return pump()
    }
    if isReaderTooSlow { return connection.cut() }
    for stream in Array(streams.values) { checkBody(of: stream) }
    pump()
  }

  func beginWindow() { sentWindow = RateWindow(now: loop.now, count: sentBody) }

  /// Whether responses wait for flow-control windows that the peer doesn't open.
  private var isReaderTooSlow: Bool {
    responding > 0
      && sentWindow.isTooSlow(for: server.core.minimumRate, count: sentBody, now: loop.now)
  }

  private func checkBody(of stream: HTTP2Stream) {
    guard case .body = stream.state,
      stream.bodyWindow.isTooSlow(
        for: server.core.minimumRate, count: stream.body.count, now: loop.now)
    else { return }
    refuse(RequestFailure(.requestTimeout, "the request body took too long"), stream)
  }

  func drain() {
    if streams.isEmpty {
      isLastStreamSaid = true
      session?.terminate(NGHTTP2_NO_ERROR)
    } else {
      leavingSince = loop.now
      session?.announceEnd()
    }
    pump()
  }

  /// Names the last stream that is served, once the peer knows that the end is near and its last requests have come.
  func refuseFurtherStreams() {
    guard leavingSince != nil, !isLastStreamSaid else { return }
    isLastStreamSaid = true
    session?.refuseFurtherStreams()
  }

  func ended() {
    leftover = []
    for stream in streams.values {
      release(stream)
      stream.piecesWait.take()?.resume(returning: false)
      _ = stream.memory.add(-stream.remaining - stream.chargedOverhead)
    }
    streams = [:]
    clientMemory = [:]
    // Unread output is held on.
    _ = memory.add(-chargedBacklog)
    _ = peer.hold(connection.backlog)
  }

  // MARK: - Memory

  private var isBacklogCharged: Bool {
    let more = connection.backlog + leftover.count - chargedBacklog
    chargedBacklog += more
    return more == 0 || memory.add(more)
  }

  func lostMemory(of owner: ChargeOwner?) {
    guard let owner, owner != peer.owner else { return connection.cut() }
    clientMemory[owner] = nil
    for stream in streams.values where stream.memory.owner == owner {
      session?.reset(stream.id, NGHTTP2_ENHANCE_YOUR_CALM)
    }
    pump()
  }
}
