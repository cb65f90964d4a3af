internal import Formats
internal import CNghttp2
internal import HTTPProtocol
internal import Platform
internal import Transport

/// HTTP/2 on a connection: carries out what its machine says, within the server's budgets. Many requests run at a time, each
/// planned and responded to as in HTTP/1.1.
final class HTTP2Connection: ServedProtocol {
  /// The connection releases this object when it ends, which breaks the cycle.
  private let connection: Connection
  private let peer: Peer
  private let server: ServerLoop
  private let machine: HTTP2Machine
  /// The number of handlers' tasks, including those whose streams were cancelled.
  private var runningTasks = 0
  /// The whole requests that wait until the peer has taken earlier responses.
  private var waiting: [HTTP2Stream] = []
  /// The memory of the connection, and of its streams unless the peer is a proxy.
  private let memory: MemoryCharge
  /// The memory of the clients of a proxy's connection.
  private var clientMemory: [ClientNetwork: MemoryCharge] = [:]
  /// The unsent bytes that are charged.
  private var chargedBacklog = 0
  private var awaitsTurn = false
  private var isPumping = false
  /// The input that came while the machine was paused.
  private var leftover: [UInt8] = []
  private var peerHasEnded = false

  private var loop: EventLoop { connection.loop }

  /// The number of unsent bytes above which no frame is made, and none is read. With a frame more they fit into a
  /// loop's buffer.
  private static let outputLimit = 40 << 10
  /// The number of bytes of untaken responses above which no request is begun.
  private static let untakenLimit = 1 << 20

  /// - Returns: nil when memory is short.
  init?(_ connection: Connection, _ peer: Peer, _ server: ServerLoop) {
    let options = server.core.options
    let limits = HTTP2Machine.Limits(
      request: server.core.limits, headTime: options.headerTimeout.milliseconds,
      idleTime: options.idleTimeout.milliseconds, rate: server.core.minimumRate)
    guard let machine = HTTP2Machine(limits, now: connection.loop.now) else { return nil }
    self.machine = machine
    self.connection = connection
    self.peer = peer
    self.server = server
    memory = peer.makeCharge(to: peer.owner)
    pump()
  }

  // MARK: - Bytes

  func received(_ input: RawSpan) {
    peer.used()
    guard !machine.isPaused else {
      // TLS may give more in the same turn.
      return unsafe input.withUnsafeBytes { unsafe leftover.append(contentsOf: $0) }
    }
    process(input)
  }

  /// Takes as much of the input as one turn allows.
  private func process(_ input: RawSpan) {
    let (taken, actions) = machine.receive(input, now: loop.now)
    perform(actions)
    if machine.isPaused {
      unsafe input.extracting(taken...).withUnsafeBytes {
        unsafe leftover.append(contentsOf: $0)
      }
      awaitsTurn = true
      connection.awaitTurn()
    }
    pump()
    if machine.isPaused { connection.pauseReading() }
  }

  func outputWaits() {
    // Not before: most often the socket takes all at the end of the turn.
    if isBackedUp { connection.pauseReading() }
  }

  private var isBackedUp: Bool { connection.backlog >= HTTP2Connection.outputLimit }

  func turnCame() {
    awaitsTurn = false
    goOn()
  }

  /// Takes the waiting input, or reads again, if the peer reads its output.
  private func goOn() {
    guard connection.isOpen, !awaitsTurn, !isBackedUp else { return }
    if machine.isPaused {
      // Also if none came: nghttp2 may have the end of a head to tell.
      let input = exchange(&leftover, with: [])
      unsafe process(input.span.bytes)
    }
    if !machine.isPaused, connection.isOpen, !isBackedUp { connection.resumeReading() }
  }

  func peerEnded() {
    peerHasEnded = true
    finishIfDone()
  }

  func drained() {
    pump()
    goOn()
  }

  /// Writes the machine's frames, as many as the peer takes.
  private func pump() {
    // What is given while frames are written is written with them.
    guard !isPumping else { return }
    isPumping = true
    defer { isPumping = false }
    while connection.isOpen, !isBackedUp {
      let room = HTTP2Connection.outputLimit - connection.backlog
      var hadFrames = false
      var actions: [HTTP2Machine.Action] = []
      connection.stage { output in
        (hadFrames, actions) = machine.write(
          into: &output, upTo: output.count + room, now: loop.now)
      }
      perform(actions)
      beginWaitingRequests()
      guard hadFrames else { break }
    }
    finishIfDone()
  }

  private func finishIfDone() {
    guard connection.isOpen else { return }
    if let fault = machine.fault {
      if fault == .flood { server.statistics.enhanceYourCalm.bump() }
      connection.finish()
    } else if !machine.isPaused,
      machine.isOver || machine.isComplete || peerHasEnded && machine.streams.isEmpty
    {
      connection.finish()
    }
  }

  // MARK: - Requests

  private func perform(_ actions: [HTTP2Machine.Action]) {
    for action in actions {
      switch action {
      case .head(let stream, let head, let hasBody):
        // What was cancelled in the same breath costs nothing more.
        if stream.state != .closed { receive(head, of: stream, hasBody: hasBody) }
      case .refuse(let stream, let failure):
        if stream.state != .closed { refuse(failure, stream) }
      case .body(let stream, let bytes): receive(bytes, of: stream)
      case .end(let stream):
        guard case .whole = stream.state else { break }
        if let upload = stream.upload.take() {
          upload.finish()
        } else if stream.exchange != nil {
          begin(stream)
        }
      case .wrote(let stream):
        _ = stream.charge(HTTP2Stream.overhead + stream.backlog)
        guard stream.remaining == 0 else { break }
        stream.piecesWait.take()?(true)
        sendQueued(of: stream)
        if stream.backlog == 0 { stream.handler?.drained() }
      case .closed(let stream):
        stream.exchange?.release(on: server)
        stream.exchange = nil
        stream.upload.take()?.cut()
        stream.piecesWait.take()?(false)
        stream.piecesTask.take()?.cancel()
        stream.queued = []
        _ = stream.charge(0)
        stream.handler.take()?.closed()
      }
    }
  }

  private func receive(_ head: RequestHead, of stream: HTTP2Stream, hasBody: Bool) {
    // A peer that cancels requests faster than they are responded to doesn't get more of them run at a time.
    guard runningTasks < HTTP2Session.concurrentStreams else { return machine.turnAway(stream) }
    var exchange = Exchange(head, from: peer, on: server)
    stream.memory = memory(of: peer.isProxy ? exchange.client : peer.owner)
    guard stream.charge(head.size + HTTP2Stream.overhead) else {
      return refuse(server.core.refusal(of: stream.memory), stream)
    }
    switch exchange.plan {
    case .refuse(let response): respond(response, to: stream)
    // WebSockets are for HTTP/1.1 here (RFC 9113 section 7).
    case .webSocket: respond(Response(.upgradeRequired), to: stream)
    case .respond(let limit, _), .task(let limit, _), .stream(let limit, _),
      .upload(let limit, _):
      guard !hasBody || exchange.count(on: server) else {
        return respond(server.tooManyRequests, to: stream)
      }
      stream.exchange = exchange
      if case .length(let length) = head.framing, length > limit {
        return refuseBody(of: stream)
      }
      if hasBody, head.expectsContinue { machine.requestBody(of: stream) }
      if hasBody, case .upload = exchange.plan { beginUpload(of: stream) }
    }
  }

  /// Starts the task that takes a body while it comes.
  private func beginUpload(of stream: HTTP2Stream) {
    let connectionID = connection.id
    let id = stream.id
    let body = RequestBody { [loop] in
      loop.execute {
        let connection = loop.connection(connectionID)?.protocolHandler as? HTTP2Connection
        connection?.uploadHasRoom(id)
      }
    }
    stream.upload = body
    stream.uploadLimit = stream.exchange?.plan.bodyLimit ?? 0
    stream.uploadHead = stream.exchange?.head
    stream.isHeldBack = true
    runningTasks += 1
    stream.exchange?.start(taking: body, on: server) { [loop] response in
      let connection = loop.connection(connectionID)?.protocolHandler as? HTTP2Connection
      connection?.deliver(response, to: id)
    }
    stream.exchange = nil
  }

  /// Lets the client send more of a body whose handler has taken some.
  private func uploadHasRoom(_ id: Int32) {
    guard let stream = machine.streams[id], let upload = stream.upload, !upload.isFull else {
      return
    }
    machine.consumeBody(of: stream)
    pump()
  }

  /// Hands bytes to the handler of an upload.
  private func receive(_ bytes: [UInt8], of stream: HTTP2Stream, for upload: RequestBody) {
    guard stream.received <= stream.uploadLimit else {
      return refuseBody(of: stream)
    }
    upload.append(bytes)
    guard stream.charge(HTTP2Stream.overhead + upload.count) else {
      return refuse(server.core.refusal(of: stream.memory), stream)
    }
    if !upload.isFull { machine.consumeBody(of: stream) }
  }

  private func receive(_ bytes: [UInt8], of stream: HTTP2Stream) {
    if let upload = stream.upload { return receive(bytes, of: stream, for: upload) }
    guard stream.exchange != nil else { return machine.discard(bytes.count, of: stream) }
    guard stream.received <= stream.exchange?.plan.bodyLimit ?? 0 else {
      return refuseBody(of: stream)
    }
    stream.exchange?.append(bytes)
    if !stream.charge(stream.charged + bytes.count) {
      refuse(server.core.refusal(of: stream.memory), stream)
    }
  }

  private func memory(of client: ClientNetwork?) -> MemoryCharge {
    guard let client, client != peer.owner else { return memory }
    if let known = clientMemory[client] { return known }
    // Those that hold nothing are of no use, and a proxy may have any number of clients.
    if clientMemory.count >= 2 * HTTP2Session.concurrentStreams {
      clientMemory = clientMemory.filter { $0.value.amount > 0 }
    }
    let new = peer.makeCharge(to: client)
    clientMemory[client] = new
    return new
  }

  // MARK: - Responses

  /// Begins a whole request, or lets it wait until the peer has taken earlier responses.
  private func begin(_ stream: HTTP2Stream) {
    guard machine.untaken < HTTP2Connection.untakenLimit else { return waiting.append(stream) }
    if let response = stream.exchange?.immediateResponse { return respond(response, to: stream) }
    guard stream.exchange?.count(on: server) ?? false else {
      return respond(server.tooManyRequests, to: stream)
    }
    runningTasks += 1
    // The task holds the request, also when the stream ends before it does.
    let connectionID = connection.id
    let id = stream.id
    let memory = stream.memory
    let held = stream.charged - HTTP2Stream.overhead
    stream.charged = HTTP2Stream.overhead
    stream.exchange?.start(on: server) { [loop] decision in
      if loop.isCurrent { _ = memory?.add(-held) }
      let connection = loop.connection(connectionID)?.protocolHandler as? HTTP2Connection
      switch decision {
      case .respond(let response): connection?.deliver(response, to: id)
      case .open(let opening): connection?.open(opening, on: id)
      }
    }
    stream.exchange = nil
  }

  private func beginWaitingRequests() {
    while machine.untaken < HTTP2Connection.untakenLimit, !waiting.isEmpty {
      let stream = waiting.removeFirst()
      if stream.exchange != nil { begin(stream) }
    }
  }

  /// Sends the response of a task.
  private func deliver(_ response: Response, to id: Int32) {
    runningTasks -= 1
    if let stream = machine.streams[id] {
      // The body of an upload may have been refused meanwhile.
      if case .responded = stream.state {} else { respond(response, to: stream) }
    }
    pump()
  }

  /// Refuses a body that is longer than the limit.
  private func refuseBody(of stream: HTTP2Stream) {
    guard let head = stream.exchange?.head ?? stream.uploadHead else {
      return refuse(RequestFailure(.contentTooLarge, "the body is longer than the limit"), stream)
    }
    respond(server.tooLarge(head), to: stream)
  }

  private func refuse(_ failure: RequestFailure, _ stream: HTTP2Stream) {
    respond(server.response(to: failure), to: stream)
  }

  private func respond(_ response: Response, to stream: HTTP2Stream) {
    // Not kept until the peer takes the response.
    stream.exchange?.release(on: server)
    stream.exchange = nil
    stream.upload.take()?.cut()
    machine.consumeBody(of: stream)
    let payload = machine.payload(of: response, to: stream)
    if stream.memory == nil { stream.memory = memory }
    guard stream.charge(HTTP2Stream.overhead + payload) || payload == 0 else {
      stream.state = .responded
      return machine.reset(stream, NGHTTP2_ENHANCE_YOUR_CALM)
    }
    machine.respond(response, to: stream, date: server.dateLine, now: loop.now)
    if case .pieces(let pieces) = response.body, stream.hasPieces { send(pieces, to: stream.id) }
  }

  /// Sends a body that is made as it is sent.
  private func send(_ pieces: AsyncThrowingStream<[UInt8], any Error>, to id: Int32) {
    runningTasks += 1
    let connectionID = connection.id
    machine.streams[id]?.piecesTask = Task(executorPreference: loop) { [loop] in
      let connection = { loop.connection(connectionID)?.protocolHandler as? HTTP2Connection }
      do {
        for try await piece in pieces where !piece.isEmpty {
          guard await connection()?.send(piece, to: id) == true else { break }
        }
        connection()?.endPieces(of: id, isWhole: true)
      } catch { connection()?.endPieces(of: id, isWhole: false) }
    }
  }

  /// Sends a piece of a body, and waits until it is sent.
  ///
  /// - Returns: whether more can be sent.
  private func send(_ piece: [UInt8], to id: Int32) async -> Bool {
    guard let stream = machine.streams[id] else { return false }
    guard stream.charge(HTTP2Stream.overhead + piece.count) else {
      machine.reset(stream, NGHTTP2_ENHANCE_YOUR_CALM)
      return false
    }
    machine.send(piece, to: stream, now: loop.now)
    return await withCheckedContinuation { continuation in
      stream.piecesWait = { continuation.resume(returning: $0) }
      pump()
    }
  }

  private func endPieces(of id: Int32, isWhole: Bool) {
    runningTasks -= 1
    if let stream = machine.streams[id] { machine.endPieces(of: stream, isWhole: isWhole) }
    pump()
  }

  // MARK: - Open bodies

  /// Opens a body that goes on as long as the client listens.
  private func open(_ opening: ResponseStreamOpening, on id: Int32) {
    guard !server.isDraining else { return deliver(Response(.serviceUnavailable), to: id) }
    deliver(opening.head, to: id)
    guard let stream = machine.streams[id], stream.hasPieces else { return }
    stream.highWaterMark = opening.highWaterMark
    let handler = opening.makeHandler(HTTP2ResponseStream(self, on: loop, id))
    // The maker may have ended it.
    guard stream.state != .closed else { return handler.closed() }
    stream.handler = handler
  }

  func backlog(of id: Int32) -> Int { machine.streams[id]?.backlog ?? 0 }

  func send(_ bytes: [UInt8], to id: Int32) {
    guard let stream = machine.streams[id], stream.hasPieces, !stream.isEnding, !bytes.isEmpty
    else { return }
    stream.queued += bytes
    if stream.backlog <= stream.highWaterMark,
      stream.charge(HTTP2Stream.overhead + stream.backlog)
    {
      sendQueued(of: stream)
    } else {
      machine.reset(stream, NGHTTP2_ENHANCE_YOUR_CALM)
    }
    pump()
  }

  func endBody(of id: Int32) {
    guard let stream = machine.streams[id], stream.hasPieces else { return }
    stream.isEnding = true
    sendQueued(of: stream)
    pump()
  }

  /// Gives nghttp2 the bytes of an open body that wait, once it has none, and the end behind them.
  private func sendQueued(of stream: HTTP2Stream) {
    guard stream.remaining == 0 else { return }
    if !stream.queued.isEmpty {
      machine.send(exchange(&stream.queued, with: []), to: stream, now: loop.now)
    } else if stream.isEnding {
      machine.endPieces(of: stream, isWhole: true)
    }
  }

  func setTimer(after duration: Duration, of id: Int32) {
    machine.streams[id]?.timer = loop.now(after: duration)
  }

  private func fireTimers() {
    let now = loop.now
    for stream in machine.streams.values {
      guard let timer = stream.timer, now >= timer else { continue }
      stream.timer = nil
      stream.handler?.timerFired()
    }
  }

  // MARK: - Time

  func tick() {
    guard !connection.isStalled, isBacklogCharged else { return connection.cut() }
    fireTimers()
    let (isFastEnough, actions) = machine.tick(now: loop.now, isBackedUp: connection.backlog > 0)
    perform(actions)
    guard isFastEnough else { return connection.cut() }
    pump()
  }

  func drain() {
    // They would go on for ever.
    for stream in machine.streams.values where stream.handler != nil { endBody(of: stream.id) }
    machine.leave(now: loop.now)
    pump()
  }

  func ended() {
    leftover = []
    for stream in machine.streams.values { perform([.closed(stream)]) }
    waiting = []
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

  func lostMemory(of owner: ClientNetwork?) {
    guard let owner, owner != peer.owner else { return connection.cut() }
    clientMemory[owner] = nil
    for stream in machine.streams.values where stream.memory?.owner == owner {
      machine.reset(stream, NGHTTP2_ENHANCE_YOUR_CALM)
    }
    pump()
  }
}
