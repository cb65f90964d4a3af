internal import Cryptography
internal import Formats
internal import HTTPProtocol
internal import Platform
internal import Transport

/// HTTP/1.1 on a connection: parses requests and responds to them one after the other, in their order.
final class HTTP1Connection: ServedProtocol {
  /// The properties of the present request that its response depends on.
  struct ResponseTraits {
    var keepAlive = false
    var headOnly = false
    var version10 = false
  }

  enum State {
    /// Nothing of a request has come since the last response, or since the connection was opened.
    case idle
    case head
    case body(received: Int)
    /// A handler's task runs; nothing is parsed until it has responded.
    case responding
  }

  /// The connection releases this object when it ends, which breaks the cycle.
  let connection: Connection
  let peer: Peer
  let loop: EventLoop
  let server: ServerLoop
  var parser: RequestParser
  var state = State.idle
  private var since: Int64
  /// The request whose body was not complete at the end of the last input.
  private var unfinished: Exchange?
  var traits = ResponseTraits()
  /// The number of bytes of the present request's body that are held, here or by its task.
  var held = 0
  /// The number of requests of this turn, and whether the next one waits for its turn.
  var handled = 0
  var awaitsTurn = false
  /// The input that came before it could be parsed: at most as much as one read gives, as reading stops while it
  /// waits.
  var pending: [UInt8] = []
  var peerHasEnded = false
  /// Resumes the maker of the present response's pieces, which waits until the last one is sent; false ends it. A closure, as
  /// the layout of a continuation is only known when the program runs.
  var piecesWait: ((Bool) -> Void)?
  /// Makes and sends the pieces.
  private var piecesTask: Task<Void, Never>?
  /// The body that a task takes while it comes, and the head of its request.
  private var upload: RequestBody?
  private var uploadHead: RequestHead?
  private var isFirst = true
  private var isProcessing = false
  /// Measures how fast a body comes.
  private var bodyWindow = RateWindow()

  /// The longest unwanted body that is read to keep the connection, in bytes.
  static let discardLimit = 64 << 10
  /// The number of unsent bytes above which no further request is parsed.
  private static let outputLimit = 64 << 10
  /// Bodies up to this size are copied behind the head, larger ones are written from where they lie.
  static let copyLimit = 4 << 10
  /// The number of pipelined requests that are taken before other connections have their turn.
  static let turnLimit = 32
  /// The number of unsent bytes that are charged at once; fewer are when the clock ticks.
  private static let chargeLimit = 64 << 10

  init(_ connection: Connection, _ peer: Peer, _ server: ServerLoop) {
    self.connection = connection
    self.peer = peer
    self.server = server
    loop = connection.loop
    parser = RequestParser(limits: server.core.limits)
    since = loop.now
  }

  // MARK: - Input

  func received(_ input: RawSpan) {
    peer.used()
    if !awaitsTurn { handled = 0 }
    guard pending.isEmpty, canParse else {
      unsafe input.withUnsafeBytes { unsafe pending.append(contentsOf: $0) }
      if canParse { goOn() } else { connection.pauseReading() }
      return charge()
    }
    let taken = process(input)
    if taken < input.byteCount, connection.isOpen {
      unsafe input.withUnsafeBytes { unsafe pending.append(contentsOf: $0[taken...]) }
      connection.pauseReading()
      charge()
    }
  }

  func peerEnded() {
    peerHasEnded = true
    // Requests that arrived before the peer closed its side get their responses.
    if case .responding = state { return }
    if pending.isEmpty { connection.finish() }
  }

  func drained() {
    piecesWait.take()?(true)
    // Also when no input is left over: reading rests until there is room for another response.
    goOn()
    charge()
  }

  func turnCame() {
    awaitsTurn = false
    handled = 0
    goOn()
  }

  private var canParse: Bool {
    if case .responding = state { return false }
    guard !awaitsTurn, upload?.isFull != true else { return false }
    return connection.backlog < HTTP1Connection.outputLimit
  }

  /// Parses the input that waited, now that there is a reason to.
  func goOn() {
    guard !isProcessing, canParse else { return }
    // Without further input, a body that filled all room is yet to be found whole.
    if !pending.isEmpty || upload != nil { processPending() }
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
          let new = Exchange(head, from: peer, on: server)
          if peer.isProxy { peer.charge(to: new.client) }
          if new.head.framing == .none {
            // Its end, which the parser tells next, has nothing to add.
            respond(to: new)
          } else {
            exchange = accept(new, hasMore: offset < input.byteCount)
          }
        case .body(let range):
          guard case .body(let received) = state else { break }
          state = .body(received: received + range.count)
          if let upload {
            upload.append(unsafe input.extracting(range).withUnsafeBytes { unsafe Array($0) })
            held = upload.count
            guard isCharged else { throw peer.memoryRefusal }
            break
          }
          guard exchange != nil else { break }
          held += range.count
          guard isCharged else { throw peer.memoryRefusal }
          exchange?.append(input.extracting(range))
        case .end:
          uploadHead = nil
          if let whole = upload.take() {
            begin(.responding)
            whole.finish()
          } else if let ended = exchange.take() {
            respond(to: ended)
          }
        }
      } catch {
        let refused = exchange.take()
        refused?.release(on: server)
        let uploadHead = uploadHead.take()
        upload.take()?.cut()
        if error.status == .contentTooLarge, let head = refused?.head ?? uploadHead {
          var response: Response
          // An unwanted body is too long to be skipped: the response stands all the same.
          if case .refuse(let planned)? = refused?.plan {
            response = planned
          } else {
            response = server.tooLarge(head)
          }
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

  /// Gives back what the present request has taken.
  func release() {
    held = 0
    unfinished?.release(on: server)
    unfinished = nil
  }

  func begin(_ next: State) {
    state = next
    since = loop.now
    bodyWindow = RateWindow(now: since)
  }

  // MARK: - Time

  func tick() {
    if connection.isStalled { return connection.cut() }
    charge()
    let options = server.core.options
    let now = loop.now
    switch state {
    case .idle:
      parser.forget()
      // Unsent output has its own deadline. A client that never sent a byte gets the time of a head.
      guard connection.backlog == 0 else { return since = now }
      let limit = isFirst ? options.headerTimeout : options.idleTimeout
      if now - since > limit.milliseconds { connection.finish() }
    case .head:
      guard now - since > options.headerTimeout.milliseconds else { return }
      refuse(RequestFailure(.requestTimeout, "the request head took too long"))
    case .body(let received):
      if upload?.isFull == true {
        // The handler lets the client wait.
        bodyWindow = RateWindow(now: now, count: received)
        return
      }
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

  func ended() {
    piecesWait.take()?(false)
    piecesTask.take()?.cancel()
    upload.take()?.cut()
    // A task's body and unread output are held on.
    let isResponding = if case .responding = state { true } else { false }
    if !isResponding { release() }
    pending = []
    _ = isCharged
  }

  // MARK: - Memory

  /// Charges the memory that the connection takes now.
  private var isCharged: Bool { peer.hold(held + pending.count + connection.backlog) }

  /// Charges the memory that the connection takes now, and cuts the connection if it can't have it.
  private func charge() { if !isCharged { connection.cut() } }

  func outputWaits() { if connection.backlog >= HTTP1Connection.chargeLimit { charge() } }

  func lostMemory(of owner: ClientNetwork?) {
    // A proxy's connection may be another client's meanwhile.
    if owner == peer.owner { connection.cut() }
  }
}

// Requests and their responses, one after the other.
extension HTTP1Connection {
  /// Decides what becomes of a request's body.
  ///
  /// - Returns: the request, or nil when it has been responded to already.
  func accept(_ new: Exchange, hasMore: Bool) -> Exchange? {
    begin(.body(received: 0))
    var exchange = new
    switch exchange.plan {
    case .respond(let limit, _), .task(let limit, _), .stream(let limit, _):
      guard exchange.count(on: server) else {
        return discardBody(of: exchange, hasMore: hasMore, or: server.tooManyRequests)
      }
      parser.bodyLimit = limit
      // The parser refuses a body that announces too much next, before a byte of it is read.
      if case .length(let length) = exchange.head.framing, length > limit { return exchange }
      if exchange.head.expectsContinue, !hasMore {
        connection.stage { $0.append(contentsOf: Response.continueLine) }
      }
      return exchange
    case .upload(let limit, _): return acceptUpload(exchange, upTo: limit, hasMore: hasMore)
    case .refuse(let response): return discardBody(of: exchange, hasMore: hasMore, or: response)
    case .webSocket:
      return discardBody(of: exchange, hasMore: hasMore, or: Response(.badRequest))
    }
  }

  /// Starts the task that takes a body while it comes.
  private func acceptUpload(_ new: Exchange, upTo limit: Int, hasMore: Bool) -> Exchange? {
    var exchange = new
    guard exchange.count(on: server) else {
      return discardBody(of: exchange, hasMore: hasMore, or: server.tooManyRequests)
    }
    parser.bodyLimit = limit
    if case .length(let length) = exchange.head.framing, length > limit { return exchange }
    if exchange.head.expectsContinue, !hasMore {
      connection.stage { $0.append(contentsOf: Response.continueLine) }
    }
    let id = connection.id
    let body = RequestBody { [loop] in
      loop.execute {
        (loop.connection(id)?.protocolHandler as? HTTP1Connection)?.goOn()
      }
    }
    upload = body
    uploadHead = exchange.head
    exchange.start(taking: body, on: server) { [loop] response in
      (loop.connection(id)?.protocolHandler as? HTTP1Connection)?.respond(response, to: body)
    }
    return nil
  }

  /// Sends the response to a request whose body a task has taken, all of it or not.
  private func respond(_ response: Response, to body: RequestBody) {
    if upload === body {
      // What is left of the body can't be told from a next request.
      upload = nil
      var last = response
      last.closes = true
      return respond(last)
    }
    guard case .responding = state else { return }
    respond(response)
  }

  /// Reads an unwanted body if it is short, so that the connection can be kept; else responds and ends it.
  private func discardBody(
    of exchange: Exchange, hasMore: Bool, or response: Response
  ) -> Exchange? {
    let head = exchange.head
    var isShort = true
    if case .length(let length) = head.framing { isShort = length <= HTTP1Connection.discardLimit }
    guard isShort, !head.expectsContinue || hasMore else {
      var last = response
      last.closes = true
      respond(last)
      return nil
    }
    parser.bodyLimit = HTTP1Connection.discardLimit
    var refused = exchange
    if case .webSocket = exchange.plan {} else { refused.plan = .refuse(response) }
    return refused
  }

  /// Responds to a whole request, or starts the task that will.
  func respond(to whole: Exchange) {
    handled += 1
    if handled >= HTTP1Connection.turnLimit, !awaitsTurn {
      awaitsTurn = true
      connection.awaitTurn()
    }
    if let response = whole.immediateResponse {
      whole.release(on: server)
      return respond(response)
    }
    var key: [UInt8]?
    if case .webSocket = whole.plan {
      switch WebSocketHandshake.check(whole.head) {
      case .refuse(let response): return respond(response)
      case .accept(let accepted): key = accepted
      }
    }
    var exchange = whole
    guard exchange.count(on: server) else { return respond(server.tooManyRequests) }
    begin(.responding)
    let id = connection.id
    guard let key else {
      // Held as long as the task holds the body.
      let charge = peer.presentCharge
      return exchange.start(on: server) { [loop] decision in
        withExtendedLifetime(charge) {}
        let connection = loop.connection(id)?.protocolHandler as? HTTP1Connection
        switch decision {
        case .respond(let response): connection?.respond(response)
        case .open(let opening): connection?.open(opening)
        }
      }
    }
    let client = exchange.client
    exchange.startHandshake(on: server) { [loop] decision in
      let connection = loop.connection(id)?.protocolHandler as? HTTP1Connection
      switch decision {
      case .refuse(let response): connection?.respond(response)
      case .accept(let acceptance): connection?.upgrade(acceptance, key: key, for: client)
      }
    }
  }

  /// Sends the response of the present request and makes ready for the next.
  func respond(_ response: Response) {
    release()
    begin(.idle)
    let keepAlive =
      traits.keepAlive && !response.closes && !server.isDraining
      && !(peerHasEnded && pending.isEmpty)
    if case .pieces(let pieces) = response.body, !traits.headOnly {
      return send(pieces, of: response, keepAlive: keepAlive && !traits.version10)
    }
    send(response, keepAlive: keepAlive)
    if keepAlive { goOn() } else { connection.finish() }
  }

  /// Sends a response whose body is made as it is sent (RFC 9112 section 7.1).
  private func send(
    _ pieces: AsyncThrowingStream<[UInt8], any Error>, of response: Response, keepAlive: Bool
  ) {
    begin(.responding)
    send(response, keepAlive: keepAlive)
    let id = connection.id
    let isChunked = !traits.version10 && response.length == nil
    piecesTask = Task(executorPreference: loop) { [loop] in
      let connection = { loop.connection(id)?.protocolHandler as? HTTP1Connection }
      do {
        for try await piece in pieces where !piece.isEmpty {
          guard await connection()?.send(piece, isChunked: isChunked) == true else { return }
        }
        connection()?.endPieces(isChunked: isChunked, keepAlive: keepAlive)
      } catch { connection()?.connection.cut() }
    }
  }

  /// Sends a piece of a body, and waits until it is sent.
  ///
  /// - Returns: whether more can be sent.
  private func send(_ piece: [UInt8], isChunked: Bool) async -> Bool {
    guard connection.isOpen else { return false }
    connection.stage { output in
      if isChunked { output.append(chunk: piece) } else { output.append(contentsOf: piece) }
    }
    return await withCheckedContinuation { continuation in
      piecesWait = { continuation.resume(returning: $0) }
    }
  }

  private func endPieces(isChunked: Bool, keepAlive: Bool) {
    piecesTask = nil
    if isChunked { connection.stage { $0.append(contentsOf: [UInt8].lastChunk) } }
    begin(.idle)
    if keepAlive, !server.isDraining { goOn() } else { connection.finish() }
  }

  private func send(_ response: Response, keepAlive: Bool) {
    let isWithoutBody = traits.headOnly || response.status.forbidsBody
    connection.stage { output in
      response.serializeHead(
        into: &output, date: server.dateLine, keepAlive: keepAlive, version10: traits.version10,
        headOnly: traits.headOnly)
      guard !isWithoutBody else { return }
      switch response.body {
      case .none, .pieces: break
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
  func refuse(_ failure: RequestFailure) {
    release()
    if case .body = state {} else { traits = ResponseTraits() }
    send(server.response(to: failure), keepAlive: false)
    connection.finish()
  }

  // MARK: - Other uses of the connection

  /// Opens a body that goes on as long as the client listens, and with it the connection.
  private func open(_ opening: ResponseStreamOpening) {
    guard !traits.headOnly else { return respond(opening.head) }
    guard !server.isDraining else { return respond(Response(.serviceUnavailable)) }
    // A client that has closed its side has gone.
    guard !peerHasEnded else { return connection.finish() }
    guard peer.belong(to: peer.owner) else {
      return respond(server.response(to: server.core.placeRefusal(of: peer.owner)))
    }
    connection.turnOwner = WorkOwner(client: peer.owner)
    release()
    pending = []
    send(opening.head, keepAlive: false)
    HTTP1ResponseStream.begin(on: connection, peer, isChunked: !traits.version10, opening)
  }

  /// Ends the HTTP part of the connection and begins the WebSocket one.
  private func upgrade(
    _ acceptance: WebSocketAcceptance, key: [UInt8], for client: ClientNetwork?
  ) {
    guard !server.isDraining else { return respond(Response(.serviceUnavailable)) }
    guard peer.belong(to: client) else {
      return respond(server.response(to: server.core.placeRefusal(of: client)))
    }
    // Also a proxy's connection is from now on a client's alone.
    connection.turnOwner = WorkOwner(client: client)
    send(
      WebSocketHandshake.response(
        key: key, subprotocol: acceptance.subprotocol, sha1: SHA1.hash), keepAlive: true)
    WebSocketConnection.begin(
      on: connection, peer, server, acceptance, input: exchange(&pending, with: []))
  }
}
