internal import CNghttp2
internal import HTTPProtocol

/// HTTP/2 on a connection: many requests at a time, each planned and answered as in HTTP/1.1.
final class HTTP2Connection: ConnectionProtocol {
  /// The connection lets go of this object when it ends, which breaks the cycle.
  private let connection: Connection
  private let loop: EventLoop
  private var session: HTTP2Session?
  private let limits: RequestParser.Limits
  private var streams: [Int32: HTTP2Stream] = [:]
  private var allowance: HTTP2Allowance
  /// Tasks that answer, those whose streams were cancelled among them.
  private var runningTasks = 0
  /// Streams whose answer's body is not sent whole.
  private var responding = 0
  private var hadRequest = false
  private var peerHasEnded = false
  /// Since when the peer has been told that the end is near.
  private var leavingSince: UInt64?
  private var isLastStreamSaid = false
  /// Since when there has been no stream.
  private var idleSince: UInt64
  /// Since when a header block has been coming in, and how many frames go on with it.
  private var blockSince: UInt64?
  private var continuations = 0
  /// How much of a trailer has come, in bytes.
  private var trailerSize = 0
  /// When the present window of the answers' rate began, and what was sent in it.
  private var windowStart: UInt64 = 0
  private var windowSent = 0

  /// Above how many unsent bytes no frame is made, and none is read. With a frame more they fit into a loop's buffer.
  private static let outputLimit = 40 << 10
  /// A header block within the limits needs no more CONTINUATION frames.
  private static let continuationLimit = 8
  /// How long it is awaited that the peer answers the PING behind the notice of the end, in milliseconds.
  private static let noticeTimeout: UInt64 = 1_000

  /// - Returns: nil when memory is short.
  init?(_ connection: Connection) {
    self.connection = connection
    loop = connection.loop
    var limits = RequestParser.Limits()
    limits.head = loop.server.options.head
    self.limits = limits
    allowance = HTTP2Allowance(now: loop.now)
    idleSince = loop.now
    session = HTTP2Session(for: self, headerListSize: limits.head)
    guard session != nil else { return nil }
    pump()
  }

  // MARK: - Bytes

  func received(_ input: RawSpan) {
    guard let session else { return }
    let failure = session.receive(input)
    if failure != 0 {
      switch nghttp2_error(failure) {
      case NGHTTP2_ERR_FLOODED, NGHTTP2_ERR_TOO_MANY_CONTINUATIONS: calm()
      // In what a callback refused, the peer has been told.
      case NGHTTP2_ERR_CALLBACK_FAILURE: break
      default: session.terminate(NGHTTP2_PROTOCOL_ERROR)
      }
    }
    pump()
    if failure != 0 { return connection.finish() }
    if connection.backlog >= HTTP2Connection.outputLimit { connection.pauseReading() }
  }

  func peerEnded() {
    peerHasEnded = true
    finishIfDone()
  }

  func drained() {
    pump()
    if connection.isOpen, connection.backlog < HTTP2Connection.outputLimit {
      connection.resumeReading()
    }
  }

  /// Writes what nghttp2 has to say, as much as the peer takes.
  private func pump() {
    guard let session else { return }
    while connection.isOpen, connection.backlog < HTTP2Connection.outputLimit {
      let hadMore = unsafe session.withNextOutput { bytes in
        connection.stage { unsafe $0.append(contentsOf: bytes) }
      }
      guard hadMore else { break }
    }
    finishIfDone()
  }

  private func finishIfDone() {
    guard connection.isOpen, let session else { return }
    let isDone = streams.isEmpty && (peerHasEnded || isLastStreamSaid)
    if isDone || session.isOver { connection.finish() }
  }

  // MARK: - What comes

  /// The peer gives more work than it takes answers: it is told so, and the connection ends.
  ///
  /// - Returns: false, for callbacks that don't go on.
  @discardableResult
  private func calm() -> Bool {
    loop.statistics.calmedConnections.bump()
    session?.terminate(NGHTTP2_ENHANCE_YOUR_CALM)
    return false
  }

  private func charge(_ charge: HTTP2Allowance.Charge) -> Bool {
    allowance.charge(charge, now: loop.now) || calm()
  }

  /// The header of a frame came.
  ///
  /// - Returns: whether to go on, as all callbacks for what comes.
  func began(_ header: nghttp2_frame_hd) -> Bool {
    switch nghttp2_frame_type(UInt32(header.type)) {
    case NGHTTP2_HEADERS:
      blockSince = loop.now
      continuations = 0
      trailerSize = 0
      return true
    case NGHTTP2_CONTINUATION:
      continuations += 1
      return continuations <= HTTP2Connection.continuationLimit || calm()
    case NGHTTP2_DATA:
      let isEnd = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
      return header.length > 0 || isEnd || charge(.idleFrame)
    case NGHTTP2_RST_STREAM: return charge(.lostRequest)
    default: return charge(.idleFrame)
    }
  }

  func beganRequest(_ id: Int32) {
    hadRequest = true
    streams[id] = HTTP2Stream(id, limits: limits, now: loop.now)
  }

  /// A header field came, or a trailer field, which is dropped.
  func tookField(_ name: RawSpan, _ value: RawSpan, of id: Int32, isTrailer: Bool) -> Bool {
    let size: Int
    if isTrailer {
      trailerSize += name.byteCount + value.byteCount + 32
      size = trailerSize
    } else {
      guard let stream = streams[id] else { return true }
      stream.collector.take(name: name, value: value)
      size = stream.collector.size
    }
    // What is somewhat too large gets 431; what is many times too large was made to be.
    return size <= 4 * max(limits.head, 16 << 10) || calm()
  }

  /// A frame came that nghttp2 doesn't take.
  func receivedFault(_ price: HTTP2Allowance.Charge) -> Bool {
    blockSince = nil
    return charge(price)
  }

  /// A frame came whole; with its CONTINUATIONs, if it was a head.
  func received(_ header: nghttp2_frame_hd, isHead: Bool) -> Bool {
    if header.type == UInt8(NGHTTP2_HEADERS.rawValue) { blockSince = nil }
    if header.type == UInt8(NGHTTP2_PING.rawValue),
      header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
    {
      refuseFurtherStreams()
    }
    guard let stream = streams[header.stream_id] else { return true }
    let isEnd = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    if isHead, !headCame(of: stream, hasBody: !isEnd) { return false }
    if isEnd, case .body = stream.state { answer(stream) }
    return true
  }

  private func headCame(of stream: HTTP2Stream, hasBody: Bool) -> Bool {
    // Who cancels requests faster than they are answered doesn't get more of them answered at a time.
    guard runningTasks < HTTP2Session.concurrentStreams else {
      session?.reset(stream.id, NGHTTP2_REFUSED_STREAM)
      return charge(.lostRequest)
    }
    stream.state = .body
    stream.windowStart = loop.now
    let head: RequestHead
    do throws(RequestFailure) {
      head = try stream.collector.finish(hasBody: hasBody)
    } catch {
      refuse(error, stream)
      return charge(.fault)
    }
    stream.collector = RequestHeadCollector(limits: limits)
    let plan = loop.server.responder.plan(for: head)
    stream.exchange = (head, plan)
    switch plan {
    case .refuse(let response): respond(response, to: stream)
    // WebSockets are for HTTP/1.1 here (RFC 9113 section 7).
    case .webSocket: respond(Response(.upgradeRequired), to: stream)
    case .respond(let limit, _), .task(let limit, _):
      stream.bodyLimit = limit
      guard hasBody else { break }
      do throws(RequestFailure) {
        if case .length(let length) = head.framing { try reserve(length, for: stream) }
        if head.expectsContinue { session?.submitContinue(to: stream.id) }
      } catch {
        refuse(error, stream)
      }
    }
    return true
  }

  func receivedBody(_ bytes: UnsafeBufferPointer<UInt8>, of id: Int32) {
    guard let stream = streams[id], case .body = stream.state else { return }
    do throws(RequestFailure) {
      try reserve(stream.body.count + bytes.count, for: stream)
      unsafe stream.body.append(contentsOf: bytes)
    } catch {
      refuse(error, stream)
    }
  }

  /// Makes sure that a body of so many bytes may come.
  private func reserve(_ count: Int, for stream: HTTP2Stream) throws(RequestFailure) {
    guard count <= stream.bodyLimit else {
      throw RequestFailure(.contentTooLarge, "the body is longer than the limit")
    }
    guard count > stream.reserved else { return }
    guard loop.server.reserveBody(count - stream.reserved) else {
      throw RequestFailure(.serviceUnavailable, "too many request bodies are held")
    }
    stream.reserved = count
  }

  private func release(_ stream: HTTP2Stream) {
    guard stream.reserved > 0 else { return }
    loop.server.releaseBody(stream.reserved)
    stream.reserved = 0
  }

  // MARK: - Answers

  /// A whole request is there: answers it, or starts the task that will.
  private func answer(_ stream: HTTP2Stream) {
    guard let (head, plan) = stream.exchange else { return }
    let request = Request(
      head: head, body: stream.body,
      origin: RequestOrigin(
        peer: connection.peer, isSecure: connection.tls != nil, id: loop.nextRequestID()))
    stream.body = []
    switch plan {
    case .respond(_, let handler): respond(handler(request), to: stream)
    case .task(_, let handler):
      stream.state = .answering
      runningTasks += 1
      let (connectionID, id) = (connection.id, stream.id)
      // The task holds the body, also when the stream ends before it does.
      let held = stream.reserved
      stream.reserved = 0
      Task(executorPreference: loop) { [loop] in
        let response = await handler(request)
        loop.server.releaseBody(held)
        loop.connection(connectionID)?.deliver(response, to: id)
      }
    case .refuse, .webSocket: break
    }
  }

  /// Sends the answer of a task.
  func deliver(_ response: Response, to id: Int32) {
    runningTasks -= 1
    if let stream = streams[id] { respond(response, to: stream) }
    pump()
  }

  private func refuse(_ failure: RequestFailure, _ stream: HTTP2Stream) {
    loop.statistics.refusedRequests.bump()
    var response = Response(failure.status)
    if failure.status == .serviceUnavailable { response.fields.append(.retryAfter, "1") }
    respond(response, to: stream)
  }

  private func respond(_ response: Response, to stream: HTTP2Stream) {
    release(stream)
    stream.body = []
    stream.state = .answered
    // Its `Upgrade` can't be said in HTTP/2, but that HTTP/1.1 is needed can (RFC 9113 section 7).
    guard response.status != .upgradeRequired else {
      session?.reset(stream.id, NGHTTP2_HTTP_1_1_REQUIRED)
      return
    }
    var fields = HTTP2Fields(response, date: loop.dateLine, headOnly: stream.isHead)
    let hasBody = !stream.isHead && !response.status.forbidsBody && response.body.count > 0
    if hasBody {
      stream.payload = response.body
      if responding == 0 { beginWindow() }
      responding += 1
    }
    guard session?.submit(&fields, hasBody: hasBody, to: stream.id) == true else {
      session?.reset(stream.id, NGHTTP2_INTERNAL_ERROR)
      return
    }
  }

  // MARK: - What is sent

  /// Bytes of a stream's answer that wait to be sent.
  func remaining(of id: Int32) -> Int { streams[id]?.remaining ?? 0 }

  /// Writes a DATA frame whose header nghttp2 made.
  func sendBody(_ count: Int, of id: Int32, behind header: UnsafeBufferPointer<UInt8>) {
    allowance.credit(.sentData)
    windowSent += count
    connection.stage { output in
      unsafe output.append(contentsOf: header)
      streams[id]?.takePayload(count, into: &output)
    }
  }

  /// A frame was sent.
  func sent(_ header: nghttp2_frame_hd) {
    if header.type == UInt8(NGHTTP2_GOAWAY.rawValue), leavingSince != nil, !isLastStreamSaid {
      // Its answer tells that the peer knows. It would overtake what it were queued with.
      session?.ping()
    }
    let isEnd =
      header.type <= UInt8(NGHTTP2_HEADERS.rawValue)
      && header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    guard isEnd, let stream = streams[header.stream_id] else { return }
    allowance.credit(.sentAnswer)
    // Nobody wants the rest of a request that is answered (RFC 9113 section 8.1).
    if let session, !session.hasEnded(stream.id) { session.reset(stream.id, NGHTTP2_NO_ERROR) }
  }

  func closed(_ id: Int32) {
    guard let stream = streams.removeValue(forKey: id) else { return }
    release(stream)
    if stream.payload.count > 0 { responding -= 1 }
    if streams.isEmpty { idleSince = loop.now }
  }

  // MARK: - Time

  func tick() {
    if connection.isStalled { return connection.cut() }
    let options = loop.server.options
    let now = loop.now
    if let leavingSince, !isLastStreamSaid, now - leavingSince > HTTP2Connection.noticeTimeout {
      refuseFurtherStreams()
      return pump()
    }
    if let blockSince, now - blockSince > options.headerTimeout.milliseconds {
      calm()
      return pump()
    }
    guard connection.backlog == 0 else {
      // The peer reads, and by the connection's measure fast enough.
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

  private func beginWindow() {
    windowStart = loop.now
    windowSent = 0
  }

  /// Whether answers wait for flow-control windows that the peer doesn't open.
  private var isReaderTooSlow: Bool {
    let options = loop.server.options
    let elapsed = loop.now - windowStart
    guard responding > 0, elapsed > options.rateGrace.milliseconds else { return false }
    defer { beginWindow() }
    return UInt64(windowSent) < elapsed * UInt64(options.minimumRate) / 1000
  }

  private func checkBody(of stream: HTTP2Stream) {
    guard case .body = stream.state else { return }
    let options = loop.server.options
    let elapsed = loop.now - stream.windowStart
    guard elapsed > options.rateGrace.milliseconds else { return }
    let received = stream.body.count - stream.windowReceived
    guard UInt64(received) >= elapsed * UInt64(options.minimumRate) / 1000 else {
      return refuse(RequestFailure(.requestTimeout, "the request body took too long"), stream)
    }
    stream.windowReceived = stream.body.count
    stream.windowStart = loop.now
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

  /// Says which stream is the last, once the peer knows that the end is near: what crossed that notice has come.
  private func refuseFurtherStreams() {
    guard leavingSince != nil, !isLastStreamSaid else { return }
    isLastStreamSaid = true
    session?.refuseFurtherStreams()
  }

  func ended() {
    for stream in streams.values { release(stream) }
    streams = [:]
  }
}

extension Connection {
  /// Sends the answer of a task on one stream of HTTP/2.
  func deliver(_ response: Response, to stream: Int32) {
    (protocolHandler as? HTTP2Connection)?.deliver(response, to: stream)
  }
}
