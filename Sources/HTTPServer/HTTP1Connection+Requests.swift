internal import Formats
internal import Cryptography
internal import HTTPProtocol
internal import Transport

// Requests and their responses, one after the other.
extension HTTP1Connection {
  /// Decides what becomes of a request's body.
  ///
  /// - Returns: the request, or nil when it has been responded to already.
  func accept(_ new: Exchange, hasMore: Bool) -> Exchange? {
    begin(.body(received: 0))
    var exchange = new
    switch exchange.plan {
    case .respond(let limit, _), .task(let limit, _):
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
    case .refuse(let response): return discardBody(of: exchange, hasMore: hasMore, or: response)
    case .webSocket:
      return discardBody(of: exchange, hasMore: hasMore, or: Response(.badRequest))
    }
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
      return exchange.start(on: server) { [loop] response in
        withExtendedLifetime(charge) {}
        (loop.connection(id)?.protocolHandler as? HTTP1Connection)?.respond(response)
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
    let (id, isChunked) = (connection.id, !traits.version10)
    Task(executorPreference: loop) { [loop] in
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
      if isChunked { output.append(contentsOf: "\(String(piece.count, radix: 16))\r\n".utf8) }
      output.append(contentsOf: piece)
      if isChunked { output.append(contentsOf: "\r\n".utf8) }
    }
    return await withCheckedContinuation { continuation in
      piecesWait = { continuation.resume(returning: $0) }
    }
  }

  private func endPieces(isChunked: Bool, keepAlive: Bool) {
    if isChunked { connection.stage { $0.append(contentsOf: "0\r\n\r\n".utf8) } }
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

  // MARK: - Upgrade

  /// Ends the HTTP part of the connection and begins the WebSocket one.
  private func upgrade(
    _ acceptance: WebSocketAcceptance, key: [UInt8], for client: ClientNetwork?
  ) {
    guard !server.isDraining else { return respond(Response(.serviceUnavailable)) }
    guard peer.belong(to: client) else {
      return respond(server.response(to: server.core.placeRefusal(of: client)))
    }
    send(
      WebSocketHandshake.response(
        key: key, subprotocol: acceptance.subprotocol, sha1: SHA1.hash), keepAlive: true)
    WebSocketConnection.begin(
      on: connection, peer, server, acceptance, input: exchange(&pending, with: []))
  }
}
