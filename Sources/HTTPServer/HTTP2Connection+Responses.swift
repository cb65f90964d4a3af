internal import CNghttp2
internal import HTTPProtocol
internal import Transport
internal import Wire

// Responses: handlers' calls, and nghttp2's callbacks for frames that are sent.
extension HTTP2Connection {
  /// Begins a whole request, or lets it wait until the peer has taken earlier responses.
  func begin(_ stream: HTTP2Stream) {
    guard untaken < HTTP2Connection.untakenLimit else {
      stream.state = .waiting
      waiting.append(stream.id)
      return
    }
    respond(stream)
  }

  func beginWaitingRequests() {
    while untaken < HTTP2Connection.untakenLimit, !waiting.isEmpty {
      guard let stream = streams[waiting.removeFirst()], case .waiting = stream.state else {
        continue
      }
      respond(stream)
    }
  }

  /// Responds to a whole request, or starts the task that will.
  private func respond(_ stream: HTTP2Stream) {
    guard let (head, origin, plan) = stream.exchange else { return }
    let request = Request(head: head, body: stream.body, origin: origin)
    switch plan {
    case .respond(_, let handler): respond(handler(request), to: stream)
    case .task(_, let handler):
      guard count(stream) else { return }
      stream.state = .responding
      runningTasks += 1
      let (connectionID, id) = (connection.id, stream.id)
      // The task holds the request, also when the stream ends before it does.
      let (client, memory, held) = (stream.counted.take(), stream.memory, stream.held)
      stream.exchange = nil
      stream.body = []
      Task(executorPreference: loop) { [loop, server] in
        let response = await handler(request)
        server.endRequest(of: client)
        if loop.isCurrent { _ = memory.add(-held) }
        let connection = loop.connection(connectionID)?.protocolHandler as? HTTP2Connection
        connection?.deliver(response, to: id)
      }
    case .refuse, .webSocket: break
    }
  }

  /// Sends the response of a task.
  private func deliver(_ response: Response, to id: Int32) {
    runningTasks -= 1
    if let stream = streams[id] { respond(response, to: stream) }
    pump()
  }

  func refuse(_ failure: RequestFailure, _ stream: HTTP2Stream) {
    respond(server.response(to: failure), to: stream)
  }

  func respond(_ response: Response, to stream: HTTP2Stream) {
    release(stream)
    stream.state = .responded
    // HTTP/2 has no `Upgrade`, but a code for requests that need HTTP/1.1 (RFC 9113 section 7).
    guard response.status != .upgradeRequired else {
      session?.reset(stream.id, NGHTTP2_HTTP_1_1_REQUIRED)
      return
    }
    if case .pieces(let pieces) = response.body, !stream.isHead {
      return respond(response, pieces, to: stream)
    }
    var fields = HTTP2Fields(response, date: server.dateLine, headOnly: stream.isHead)
    let hasBody = !stream.isHead && !response.status.forbidsBody && response.body.count > 0
    if hasBody { guard take(response.body, for: stream) else { return } }
    if session?.submit(&fields, hasBody: hasBody, to: stream.id) != true {
      session?.reset(stream.id, NGHTTP2_INTERNAL_ERROR)
    }
  }

  /// Takes what is to be sent next on a stream.
  ///
  /// - Returns: whether there is memory for it; if not, the stream is reset.
  private func take(_ body: Response.Body, for stream: HTTP2Stream) -> Bool {
    guard stream.memory.add(body.count) else {
      _ = stream.memory.add(-body.count)
      session?.reset(stream.id, NGHTTP2_ENHANCE_YOUR_CALM)
      return false
    }
    (stream.payload, stream.offset) = (body, 0)
    untaken += body.count
    if responding == 0 { beginWindow() }
    responding += 1
    stream.isCounted = true
    return true
  }

  private func uncount(_ stream: HTTP2Stream) {
    if stream.isCounted { responding -= 1 }
    stream.isCounted = false
  }

  /// Sends a response whose body is made as it is sent.
  private func respond(
    _ response: Response, _ pieces: AsyncThrowingStream<[UInt8], any Error>, to stream: HTTP2Stream
  ) {
    var fields = HTTP2Fields(response, date: server.dateLine, headOnly: false)
    stream.hasPieces = true
    guard session?.submit(&fields, hasBody: true, to: stream.id) == true else {
      session?.reset(stream.id, NGHTTP2_INTERNAL_ERROR)
      return
    }
    runningTasks += 1
    let (connectionID, id) = (connection.id, stream.id)
    Task(executorPreference: loop) { [loop] in
      let connection = { loop.connection(connectionID)?.protocolHandler as? HTTP2Connection }
      do {
        for try await piece in pieces where !piece.isEmpty {
          guard await connection()?.send(piece, to: id) == true else { break }
        }
        connection()?.endPieces(of: id, NGHTTP2_NO_ERROR)
      } catch {
        connection()?.endPieces(of: id, NGHTTP2_INTERNAL_ERROR)
      }
    }
  }

  /// Sends a piece of a body, and waits until it is sent.
  ///
  /// - Returns: whether more can be sent.
  private func send(_ piece: [UInt8], to id: Int32) async -> Bool {
    guard let stream = streams[id], take(.array(piece), for: stream) else { return false }
    return await withCheckedContinuation { continuation in
      stream.piecesWait = continuation
      session?.resume(id)
      pump()
    }
  }

  private func endPieces(of id: Int32, _ code: nghttp2_error_code) {
    runningTasks -= 1
    streams[id]?.hasPieces = false
    if code == NGHTTP2_NO_ERROR { session?.resume(id) } else { session?.reset(id, code) }
    pump()
  }

  /// The number of bytes of a stream's response that wait to be sent, and whether more are to come.
  func remaining(of id: Int32) -> (count: Int, hasMore: Bool) {
    streams[id].map { ($0.remaining, $0.hasPieces) } ?? (0, false)
  }

  /// Writes a DATA frame whose header nghttp2 made, unless enough waits to be sent: nghttp2 would give all frames that it has
  /// in one go.
  ///
  /// - Returns: whether it was written.
  func sendBody(_ count: Int, of id: Int32, behind header: UnsafeBufferPointer<UInt8>) -> Bool {
    guard connection.backlog < HTTP2Connection.outputLimit else { return false }
    allowance.credit(.sentData)
    sentBody += count
    untaken -= count
    if let stream = streams[id] { _ = stream.memory.add(-count) }
    connection.stage { output in
      unsafe output.append(contentsOf: header)
      streams[id]?.takePayload(count, into: &output)
    }
    if let stream = streams[id], stream.hasPieces, stream.remaining == 0 {
      uncount(stream)
      stream.piecesWait.take()?.resume(returning: true)
    }
    return true
  }

  /// Takes note that a frame was sent.
  func sent(_ header: nghttp2_frame_hd) {
    if header.type == UInt8(NGHTTP2_GOAWAY.rawValue), leavingSince != nil, !isLastStreamSaid {
      // Its acknowledgement tells that the peer knows. Queued together with the notice it would overtake that.
      session?.ping()
    }
    let isEnd =
      header.type <= UInt8(NGHTTP2_HEADERS.rawValue)
      && header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    guard isEnd, let stream = streams[header.stream_id] else { return }
    allowance.credit(.sentResponse)
    if let session, !session.hasEnded(stream.id) {
      stream.lingerDeadline = loop.now + HTTP2Connection.lingerTimeout
    }
  }

  /// Drops what comes of a request after its response.
  ///
  /// It need not be taken (RFC 9113 section 8.1), but many clients don't look at the response when the stream is reset
  /// while they send. The stream stays one of those that a peer may have under way.
  func discard(_ count: Int, of stream: HTTP2Stream) {
    discarded += count
    if discarded > HTTP2Connection.discardLimit, stream.lingerDeadline != nil {
      session?.reset(stream.id, NGHTTP2_NO_ERROR)
    }
  }

  /// Ends the streams whose requests don't end although they have been responded to.
  func endLingeringStreams() {
    for (id, stream) in streams {
      guard let deadline = stream.lingerDeadline, loop.now > deadline else { continue }
      session?.reset(id, NGHTTP2_NO_ERROR)
    }
  }

  func closed(_ id: Int32) {
    guard let stream = streams.removeValue(forKey: id) else { return }
    release(stream)
    untaken -= stream.remaining
    _ = stream.memory.add(-stream.remaining - stream.chargedOverhead)
    uncount(stream)
    stream.piecesWait.take()?.resume(returning: false)
    guard streams.isEmpty else { return }
    idleSince = loop.now
    discarded = 0
  }
}
