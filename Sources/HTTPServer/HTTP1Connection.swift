internal import HTTPProtocol

/// HTTP/1.1 on a connection: parses requests, has them answered one after the other, and keeps their order.
final class HTTP1Connection: ConnectionProtocol {
  /// The request that is being read or answered.
  private struct Exchange {
    var head: RequestHead
    var plan: RequestPlan
    var id: UInt64
    var body: [UInt8] = []
    /// How many bytes of body memory are reserved for it.
    var reserved = 0
    /// Whether the answer is known already, and the body is only read to keep the connection.
    var discards = false
  }

  private enum State {
    /// Nothing of a request has come since the last response, or since the connection was opened.
    case idle
    case head
    case body(received: Int)
    /// A task answers; nothing is parsed until it has.
    case answering
  }

  private unowned let connection: Connection
  private var parser: RequestParser
  private var state = State.idle
  private var since: UInt64
  private var exchange: Exchange?
  /// Input that came before it could be parsed: at most what one read gives, for reading stops while it waits.
  private var pending: [UInt8] = []
  private var peerHasEnded = false
  private var isFirst = true
  private var isProcessing = false

  /// How many bytes of a body that nobody wants are read to keep the connection.
  private static let discardLimit = 64 << 10
  /// Above how many unsent bytes no further request is parsed.
  private static let outputLimit = 256 << 10
  /// Bodies up to this size are copied behind the head, larger ones are written from where they lie.
  private static let copyLimit = 4 << 10

  init(_ connection: Connection) {
    self.connection = connection
    var limits = RequestParser.Limits()
    limits.head = connection.loop.server.options.head
    parser = RequestParser(limits: limits)
    since = connection.loop.now
  }

  // MARK: - Input

  func received(_ input: RawSpan) {
    guard pending.isEmpty, canParse else {
      unsafe input.withUnsafeBytes { unsafe pending.append(contentsOf: $0) }
      if canParse { goOn() } else { connection.pauseReading() }
      return
    }
    let taken = process(input)
    if taken < input.byteCount, connection.isOpen {
      unsafe input.withUnsafeBytes { unsafe pending.append(contentsOf: $0[taken...]) }
      connection.pauseReading()
    }
  }

  func peerEnded() {
    peerHasEnded = true
    // Who asks and then shuts its side still gets its answer.
    if case .answering = state { return }
    if pending.isEmpty { connection.finish() }
  }

  func drained() { goOn() }

  private var canParse: Bool {
    if case .answering = state { return false }
    return connection.backlog < HTTP1Connection.outputLimit
  }

  /// Parses what waited, now that there is a reason to.
  private func goOn() {
    guard !isProcessing, canParse else { return }
    if !pending.isEmpty { processPending() }
    guard connection.isOpen, canParse, pending.isEmpty else { return }
    if peerHasEnded { connection.finish() } else { connection.resumeReading() }
  }

  private func processPending() {
    let input = pending
    pending = []
    let taken = unsafe process(input.span.bytes)
    if taken < input.count, connection.isOpen { pending = Array(input[taken...]) }
  }

  /// Parses and answers as long as there is input and no answer is awaited.
  ///
  /// - Returns: how many bytes were taken.
  private func process(_ input: RawSpan) -> Int {
    isProcessing = true
    defer { isProcessing = false }
    var offset = 0
    while connection.isOpen, canParse {
      do throws(RequestFailure) {
        switch try parser.next(input, from: &offset) {
        case .incomplete:
          if case .idle = state, !parser.isBetweenMessages { begin(.head) }
          return offset
        case .head(let head):
          accept(head, hasMore: offset < input.byteCount)
        case .body(let range):
          append(input, range)
        case .end: answer()
        }
      } catch {
        guard error.status == .contentTooLarge, exchange?.discards == true else {
          refuse(error)
          continue
        }
        // A body that nobody wanted is too long to be skipped: the answer stands all the same.
        answer(closing: true)
      }
    }
    return offset
  }

  private func begin(_ next: State) {
    state = next
    since = connection.loop.now
  }

  // MARK: - A request

  private func accept(_ head: RequestHead, hasMore: Bool) {
    let plan = connection.loop.server.responder.plan(for: head)
    let id = connection.loop.nextRequestID()
    isFirst = false
    var next = Exchange(head: head, plan: plan, id: id)
    switch plan {
    case .respond(let limit, _), .task(let limit, _): parser.bodyLimit = limit
    case .refuse, .webSocket:
      parser.bodyLimit = HTTP1Connection.discardLimit
      next.discards = true
    }
    exchange = next
    guard head.framing != .none else { return }
    begin(.body(received: 0))
    if case .length(let length) = head.framing {
      // The parser refuses it, before a byte of it is read.
      guard length <= parser.bodyLimit else { return }
      guard next.discards || reserve(length) else { return noMemory() }
    }
    guard head.expectsContinue, !hasMore else { return }
    if next.discards {
      // The client waits for a word before it sends; this one saves it the trouble.
      return answer(closing: true)
    }
    connection.stage { $0.append(contentsOf: Response.continueLine) }
  }

  private func reserve(_ count: Int) -> Bool {
    guard connection.loop.server.reserveBody(count) else { return false }
    exchange?.reserved += count
    return true
  }

  private func release() {
    guard let reserved = exchange?.reserved, reserved > 0 else { return }
    exchange?.reserved = 0
    connection.loop.server.releaseBody(reserved)
  }

  private func append(_ input: RawSpan, _ range: Range<Int>) {
    guard case .body(let received) = state else { return }
    let total = received + range.count
    state = .body(received: total)
    // In place: a copy of the exchange would share its body, and each piece would copy all before it.
    guard let reserved = exchange?.reserved, exchange?.discards == false else { return }
    if total > reserved, !reserve(total - reserved) { return noMemory() }
    unsafe input.extracting(range).withUnsafeBytes { bytes in
      unsafe exchange?.body.append(contentsOf: bytes)
    }
  }

  /// A whole request is there: answers it, or starts the task that will.
  private func answer(closing: Bool = false) {
    guard let exchange else { return }
    let loop = connection.loop
    switch exchange.plan {
    case .refuse(var response):
      response.closes = response.closes || closing
      respond(response)
    case .respond(_, let handler):
      respond(handler(request(of: exchange)))
    case .task(_, let handler):
      begin(.answering)
      let request = request(of: exchange)
      let id = connection.id
      // The task holds the body, also when the connection ends before it does.
      let held = exchange.reserved
      self.exchange?.reserved = 0
      Task(executorPreference: loop) {
        let response = await handler(request)
        if held > 0 { loop.server.releaseBody(held) }
        loop.connection(id)?.deliver(response)
      }
    case .webSocket(let handler):
      switch WebSocketHandshake.check(exchange.head) {
      case .refuse(var response):
        response.closes = response.closes || closing
        respond(response)
      case .accept(let key):
        begin(.answering)
        let request = request(of: exchange)
        let id = connection.id
        Task(executorPreference: loop) {
          let decision = await handler(request)
          loop.connection(id)?.deliver(decision, key: key)
        }
      }
    }
  }

  private func request(of exchange: Exchange) -> Request {
    Request(
      head: exchange.head, body: exchange.body,
      origin: RequestOrigin(peer: connection.peer, id: exchange.id))
  }

  /// Sends the response of the present request and makes ready for the next.
  func respond(_ response: Response) {
    guard let exchange else { return }
    release()
    self.exchange = nil
    begin(.idle)
    let keepAlive =
      exchange.head.keepAlive && !response.closes && !connection.loop.isDraining
      && !(peerHasEnded && pending.isEmpty)
    let headOnly = exchange.head.method == .head
    send(response, keepAlive: keepAlive, headOnly: headOnly, version: exchange.head.version)
    if keepAlive { goOn() } else { connection.finish() }
  }

  private func send(
    _ response: Response, keepAlive: Bool, headOnly: Bool, version: RequestHead.Version
  ) {
    let loop = connection.loop
    let isWithoutBody = headOnly || response.status.forbidsBody
    connection.stage { output in
      response.serializeHead(
        into: &output, date: loop.dateLine, keepAlive: keepAlive, version10: version == .http10,
        headOnly: headOnly)
      guard !isWithoutBody else { return }
      switch response.body {
      case .none: break
      case .array(let bytes): output.append(contentsOf: bytes)
      case .bytes(let bytes):
        if bytes.count <= HTTP1Connection.copyLimit {
          unsafe output.append(contentsOf: bytes.buffer)
        }
      }
    }
    guard !isWithoutBody, case .bytes(let bytes) = response.body,
      bytes.count > HTTP1Connection.copyLimit
    else { return }
    connection.write(bytes)
  }

  // MARK: - Refusals

  private func noMemory() {
    refuse(RequestFailure(.serviceUnavailable, "too many request bodies are held"))
  }

  /// Answers what can't be taken and ends the connection: what follows can't be told from a next request.
  private func refuse(_ failure: RequestFailure) {
    connection.loop.statistics.refusedRequests.bump()
    release()
    let head = exchange?.head
    exchange = nil
    var response = Response(failure.status)
    if failure.status == .serviceUnavailable { response.fields.append(.retryAfter, "1") }
    send(
      response, keepAlive: false, headOnly: head?.method == .head, version: head?.version ?? .http11
    )
    connection.finish()
  }

  // MARK: - Time

  func tick() {
    if connection.isStalled { return connection.cut() }
    let loop = connection.loop
    let options = loop.server.options
    let elapsed = loop.now - since
    switch state {
    case .idle:
      // Unsent output has its own deadline. Who never sent a byte gets the time of a head.
      guard connection.backlog == 0 else { return since = loop.now }
      let limit = isFirst ? options.headerTimeout : options.idleTimeout
      if elapsed > limit.milliseconds { connection.finish() }
    case .head:
      guard elapsed > options.headerTimeout.milliseconds else { return }
      refuse(RequestFailure(.requestTimeout, "the request head took too long"))
    case .body(let received):
      guard elapsed > options.rateGrace.milliseconds,
        UInt64(received) < elapsed * UInt64(options.minimumRate) / 1000
      else { return }
      refuse(RequestFailure(.requestTimeout, "the request body took too long"))
    case .answering: break
    }
  }

  func drain() {
    guard case .idle = state else { return }
    connection.finish()
  }

  func ended() { release() }

  // MARK: - Upgrade

  /// Ends the HTTP part of the connection and begins the WebSocket one.
  func upgrade(_ acceptance: WebSocketAcceptance, key: [UInt8]) {
    guard !connection.loop.isDraining else { return respond(Response(.serviceUnavailable)) }
    exchange = nil
    let response = WebSocketHandshake.response(
      key: key, subprotocol: acceptance.subprotocol, sha1: SHA1.hash)
    send(response, keepAlive: true, headOnly: false, version: .http11)
    let input = pending
    pending = []
    WebSocketConnection.begin(on: connection, acceptance, input: input)
  }
}

extension Connection {
  /// Sends the answer of a task.
  func deliver(_ response: Response) {
    (protocolHandler as? HTTP1Connection)?.respond(response)
  }

  /// Carries out what a task decided about a WebSocket handshake.
  ///
  /// - Parameter key: the handshake's `Sec-WebSocket-Key`.
  func deliver(_ decision: WebSocketDecision, key: [UInt8]) {
    guard let http = protocolHandler as? HTTP1Connection else { return }
    switch decision {
    case .refuse(let response): http.respond(response)
    case .accept(let acceptance): http.upgrade(acceptance, key: key)
    }
  }
}
