internal import Cryptography
internal import HTTPProtocol
internal import Time
internal import Transport
internal import Wire

/// HTTP/1.1 on a connection: parses requests and responds to them one after the other, in their order.
final class HTTP1Connection: DrainableProtocol {
  /// A request whose body is still to come.
  private struct Exchange {
    var head: RequestHead
    var plan: RequestPlan
    var body: [UInt8] = []
  }

  /// The properties of the present request that its response depends on.
  private struct ResponseTraits {
    var keepAlive = false
    var headOnly = false
    var version10 = false
  }

  private enum State {
    /// Nothing of a request has come since the last response, or since the connection was opened.
    case idle
    case head
    case body(received: Int)
    /// A handler's task runs; nothing is parsed until it has responded.
    case responding
  }

  /// The connection releases this object when it ends, which breaks the cycle.
  private let connection: Connection
  private let loop: EventLoop
  private let server: ServerLoop
  private var parser: RequestParser
  private var state = State.idle
  private var since: Int64
  /// The request whose body was not complete at the end of the last input.
  private var unfinished: Exchange?
  private var traits = ResponseTraits()
  /// The number of bytes of body memory that are reserved.
  private var reserved = 0
  /// The input that came before it could be parsed: at most as much as one read gives, as reading stops while it
  /// waits.
  private var pending: [UInt8] = []
  private var peerHasEnded = false
  private var isFirst = true
  private var isProcessing = false
  /// Measures how fast a body comes.
  private var bodyWindow = RateWindow()

  /// The longest unwanted body that is read to keep the connection, in bytes.
  private static let discardLimit = 64 << 10
  /// The number of unsent bytes above which no further request is parsed.
  private static let outputLimit = 256 << 10
  /// Bodies up to this size are copied behind the head, larger ones are written from where they lie.
  private static let copyLimit = 4 << 10

  init(_ connection: Connection, _ server: ServerLoop) {
    self.connection = connection
    self.server = server
    loop = connection.loop
    parser = RequestParser(limits: server.core.limits)
    since = loop.now
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
    // Requests that arrived before the peer closed its side get their responses.
    if case .responding = state { return }
    if pending.isEmpty { connection.finish() }
  }

  func drained() {
    // Also when no input is left over: reading rests until there is room for another response.
    goOn()
  }

  private var canParse: Bool {
    if case .responding = state { return false }
    return connection.backlog < HTTP1Connection.outputLimit
  }

  /// Parses the input that waited, now that there is a reason to.
  private func goOn() {
    guard !isProcessing, canParse else { return }
    if !pending.isEmpty { processPending() }
    guard connection.isOpen, canParse, pending.isEmpty else { return }
    if peerHasEnded { connection.finish() } else { connection.resumeReading() }
  }

  private func processPending() {
    let input = exchange(&pending, with: [])
    let taken = unsafe process(input.span.bytes)
    if taken < input.count, connection.isOpen { pending = Array(input[taken...]) }
  }

  /// Parses and responds as long as there is input and no response is awaited.
  ///
  /// - Returns: the number of bytes that were taken.
  private func process(_ input: RawSpan) -> Int {
    isProcessing = true
    defer { isProcessing = false }
    // Kept in a variable while it grows, so that a body is appended to in place.
    var exchange = unfinished.take()
    var offset = 0
    reading: while connection.isOpen, canParse {
      do throws(RequestFailure) {
        switch try parser.next(input, from: &offset) {
        case .incomplete:
          if case .idle = state, !parser.isBetweenMessages { begin(.head) }
          break reading
        case .head(let head):
          isFirst = false
          traits = ResponseTraits(
            keepAlive: head.keepAlive, headOnly: head.method == .head,
            version10: head.version == .http10)
          let plan = server.core.responder.plan(for: head)
          if head.framing == .none {
            // Its end, which the parser tells next, has nothing to add.
            respond(to: head, by: plan, body: [])
          } else {
            exchange = try accept(head, plan, hasMore: offset < input.byteCount)
          }
        case .body(let range):
          guard case .body(let received) = state else { break }
          state = .body(received: received + range.count)
          guard exchange != nil else { break }
          try server.core.reserveBody(received + range.count, reserved: &reserved)
          unsafe input.extracting(range).withUnsafeBytes { bytes in
            unsafe exchange?.body.append(contentsOf: bytes)
          }
        case .end:
          if let ended = exchange.take() {
            respond(to: ended.head, by: ended.plan, body: ended.body)
          }
        }
      } catch {
        let refused = exchange.take()
        if error.status == .contentTooLarge, case .refuse(var response)? = refused?.plan {
          // An unwanted body is too long to be skipped: the response stands all the same.
          response.closes = true
          respond(response)
        } else {
          refuse(error)
        }
      }
    }
    unfinished = exchange
    return offset
  }

  private func begin(_ next: State) {
    state = next
    since = loop.now
    bodyWindow = RateWindow(now: since)
  }

  // MARK: - A request

  /// Decides what becomes of a request's body.
  ///
  /// - Returns: the request, or nil when it has been responded to already.
  private func accept(
    _ head: RequestHead, _ plan: RequestPlan, hasMore: Bool
  ) throws(RequestFailure) -> Exchange? {
    begin(.body(received: 0))
    switch plan {
    case .respond(let limit, _), .task(let limit, _):
      parser.bodyLimit = limit
      if case .length(let length) = head.framing {
        // The parser refuses a body that announces too much next, before a byte of it is read.
        guard length <= limit else { return Exchange(head: head, plan: plan) }
        try server.core.reserveBody(length, reserved: &reserved)
      }
      if head.expectsContinue, !hasMore {
        connection.stage { $0.append(contentsOf: Response.continueLine) }
      }
      return Exchange(head: head, plan: plan)
    case .refuse(let response):
      return discardBody(of: head, hasMore: hasMore, then: plan, or: response)
    case .webSocket:
      return discardBody(of: head, hasMore: hasMore, then: plan, or: Response(.badRequest))
    }
  }

  /// Reads an unwanted body if it is short, so that the connection can be kept; else responds and ends it.
  private func discardBody(
    of head: RequestHead, hasMore: Bool, then plan: RequestPlan, or response: Response
  ) -> Exchange? {
    var isShort = true
    if case .length(let length) = head.framing { isShort = length <= HTTP1Connection.discardLimit }
    guard isShort, !head.expectsContinue || hasMore else {
      var last = response
      last.closes = true
      respond(last)
      return nil
    }
    parser.bodyLimit = HTTP1Connection.discardLimit
    return Exchange(head: head, plan: plan)
  }

  private func release() { server.core.releaseBody(exchange(&reserved, with: 0)) }

  /// Responds to a whole request, or starts the task that will.
  private func respond(to head: RequestHead, by plan: RequestPlan, body: [UInt8]) {
    switch plan {
    case .refuse(let response): respond(response)
    case .respond(_, let handler):
      respond(handler(server.request(head, body, from: connection)))
    case .task(_, let handler):
      begin(.responding)
      let request = server.request(head, body, from: connection)
      let id = connection.id
      // The task holds the body, also when the connection ends before it does.
      let held = exchange(&reserved, with: 0)
      Task(executorPreference: loop) { [loop, server] in
        let response = await handler(request)
        server.core.releaseBody(held)
        (loop.connection(id)?.protocolHandler as? HTTP1Connection)?.respond(response)
      }
    case .webSocket(let handler):
      switch WebSocketHandshake.check(head) {
      case .refuse(let response): respond(response)
      case .accept(let key):
        begin(.responding)
        let request = server.request(head, body, from: connection)
        let id = connection.id
        Task(executorPreference: loop) { [loop] in
          let decision = await handler(request)
          let connection = loop.connection(id)?.protocolHandler as? HTTP1Connection
          switch decision {
          case .refuse(let response): connection?.respond(response)
          case .accept(let acceptance): connection?.upgrade(acceptance, key: key)
          }
        }
      }
    }
  }

  /// Sends the response of the present request and makes ready for the next.
  private func respond(_ response: Response) {
    release()
    begin(.idle)
    let keepAlive =
      traits.keepAlive && !response.closes && !server.isDraining
      && !(peerHasEnded && pending.isEmpty)
    send(response, keepAlive: keepAlive)
    if keepAlive { goOn() } else { connection.finish() }
  }

  private func send(_ response: Response, keepAlive: Bool) {
    let isWithoutBody = traits.headOnly || response.status.forbidsBody
    connection.stage { output in
      response.serializeHead(
        into: &output, date: server.dateLine, keepAlive: keepAlive, version10: traits.version10,
        headOnly: traits.headOnly)
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

  /// Refuses a request and ends the connection: what follows can't be told from a next request.
  private func refuse(_ failure: RequestFailure) {
    release()
    if case .body = state {} else { traits = ResponseTraits() }
    send(server.response(to: failure), keepAlive: false)
    connection.finish()
  }

  // MARK: - Time

  func tick() {
    if connection.isStalled { return connection.cut() }
    let options = server.core.options
    let now = loop.now
    switch state {
    case .idle:
      // Unsent output has its own deadline. A client that never sent a byte gets the time of a head.
      guard connection.backlog == 0 else { return since = now }
      let limit = isFirst ? options.headerTimeout : options.idleTimeout
      if now - since > limit.milliseconds { connection.finish() }
    case .head:
      guard now - since > options.headerTimeout.milliseconds else { return }
      refuse(RequestFailure(.requestTimeout, "the request head took too long"))
    case .body(let received):
      guard bodyWindow.isTooSlow(for: server.core.minimumRate, count: received, now: now) else {
        return
      }
      refuse(RequestFailure(.requestTimeout, "the request body took too long"))
    case .responding: break
    }
  }

  func drain() {
    guard case .idle = state else { return }
    connection.finish()
  }

  func ended() { release() }

  // MARK: - Upgrade

  /// Ends the HTTP part of the connection and begins the WebSocket one.
  private func upgrade(_ acceptance: WebSocketAcceptance, key: [UInt8]) {
    guard !server.isDraining else { return respond(Response(.serviceUnavailable)) }
    send(
      WebSocketHandshake.response(
        key: key, subprotocol: acceptance.subprotocol, sha1: SHA1.hash), keepAlive: true)
    WebSocketConnection.begin(
      on: connection, server, acceptance, input: exchange(&pending, with: []))
  }
}
