internal import CNghttp2
internal import HTTPProtocol
internal import Transport

// Requests: nghttp2's callbacks for frames that come, and their charges.
extension HTTP2Connection {
  /// A header block within the limits needs no more CONTINUATION frames.
  private static let continuationLimit = 8

  /// Ends the connection, because the peer gives more work than it takes responses.
  ///
  /// - Returns: false, for callbacks that don't go on.
  @discardableResult
  func enhanceYourCalm() -> Bool {
    server.statistics.enhanceYourCalm.bump()
    session?.terminate(NGHTTP2_ENHANCE_YOUR_CALM)
    return false
  }

  private func charge(_ charge: HTTP2Allowance.Charge) -> Bool {
    allowance.charge(charge, now: loop.now) || enhanceYourCalm()
  }

  /// Takes the header of a frame.
  ///
  /// - Returns: whether to go on, as from all callbacks for frames that come.
  func began(_ header: nghttp2_frame_hd) -> Bool {
    switch nghttp2_frame_type(UInt32(header.type)) {
    case NGHTTP2_HEADERS:
      blockSince = loop.now
      continuations = 0
      trailerSize = 0
      return true
    case NGHTTP2_CONTINUATION:
      continuations += 1
      return continuations <= HTTP2Connection.continuationLimit || enhanceYourCalm()
    case NGHTTP2_DATA:
      let isEnd = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
      return header.length > 0 || isEnd || charge(.idleFrame)
    case NGHTTP2_RST_STREAM: return charge(.lostRequest)
    default: return charge(.idleFrame)
    }
  }

  func beganRequest(_ id: Int32) {
    hadRequest = true
    streams[id] = HTTP2Stream(
      id, memory: memory, limits: server.core.limits, now: loop.now)
  }

  /// Takes a header field, or drops a trailer field.
  func tookField(_ name: RawSpan, _ value: RawSpan, of id: Int32, isTrailer: Bool) -> Bool {
    let size: Int
    let taken = name.byteCount + value.byteCount + 32
    takenFields += taken
    if isTrailer {
      trailerSize += taken
      size = trailerSize
    } else {
      guard let stream = streams[id] else { return true }
      stream.collector.take(name: name, value: value)
      size = stream.collector.size
    }
    // A head that is somewhat too large gets 431; one that is many times too large was made to be.
    return size <= 4 * max(server.core.limits.head, 16 << 10) || enhanceYourCalm()
  }

  /// Takes note of a frame that nghttp2 refused.
  func receivedFault(_ price: HTTP2Allowance.Charge) -> Bool {
    blockSince = nil
    return charge(price)
  }

  /// Takes note of a frame whose type is unknown.
  func receivedUnknownFrame() -> Bool { charge(.idleFrame) }

  /// Takes note that a frame has come whole; with its CONTINUATIONs, if it was a head.
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
    if isEnd, case .body = stream.state { begin(stream) }
    return true
  }

  private func headCame(of stream: HTTP2Stream, hasBody: Bool) -> Bool {
    // A peer that cancels requests faster than they are responded to doesn't get more of them run at a time.
    guard runningTasks < HTTP2Session.concurrentStreams else {
      session?.reset(stream.id, NGHTTP2_REFUSED_STREAM)
      return charge(.lostRequest)
    }
    stream.state = .body
    stream.bodyWindow = RateWindow(now: loop.now)
    let head: RequestHead
    do throws(RequestFailure) {
      head = try stream.collector.finish(hasBody: hasBody)
    } catch {
      refuse(error, stream)
      return charge(.fault)
    }
    stream.collector = RequestHeadCollector(limits: server.core.limits)
    let origin = server.origin(of: head, from: peer)
    if peer.isProxy { stream.memory = memory(of: origin.client.map(ChargeOwner.client)) }
    let plan = server.core.responder.plan(for: head)
    stream.exchange = (head, origin, plan)
    stream.isHead = head.method == .head
    stream.chargedOverhead = HTTP2Stream.overhead
    guard stream.memory.add(head.size + stream.chargedOverhead) else {
      refuse(server.core.refusal(of: stream.memory), stream)
      return true
    }
    switch plan {
    case .refuse(let response): respond(response, to: stream)
    // WebSockets are for HTTP/1.1 here (RFC 9113 section 7).
    case .webSocket: respond(Response(.upgradeRequired), to: stream)
    case .respond(let limit, _), .task(let limit, _):
      stream.bodyLimit = limit
      guard hasBody else { break }
      guard count(stream) else { break }
      if case .length(let length) = head.framing, length > limit {
        refuse(RequestFailure(.contentTooLarge, "the body is longer than the limit"), stream)
      } else if head.expectsContinue {
        session?.submitContinue(to: stream.id)
      }
    }
    return true
  }

  func receivedBody(_ bytes: UnsafeBufferPointer<UInt8>, of id: Int32) {
    guard let stream = streams[id] else { return }
    guard case .body = stream.state else { return discard(bytes.count, of: stream) }
    guard stream.body.count + bytes.count <= stream.bodyLimit else {
      return refuse(
        RequestFailure(.contentTooLarge, "the body is longer than the limit"), stream)
    }
    unsafe stream.body.append(contentsOf: bytes)
    if !stream.memory.add(bytes.count) {
      refuse(server.core.refusal(of: stream.memory), stream)
    }
  }

  /// Counts the request as one in progress, or refuses it if its client may have no more.
  ///
  /// - Returns: whether it goes on.
  func count(_ stream: HTTP2Stream) -> Bool {
    guard stream.counted == nil else { return true }
    let client = stream.exchange?.origin.client
    guard server.beginRequest(of: client) else {
      respond(server.tooManyRequests, to: stream)
      return false
    }
    stream.counted = client
    return true
  }

  private func memory(of client: ChargeOwner?) -> MemoryCharge {
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

  /// Gives back what a stream's request has taken.
  func release(_ stream: HTTP2Stream) {
    server.endRequest(of: stream.counted.take())
    _ = stream.memory.add(-stream.held)
    // Not kept until the peer takes the response.
    stream.exchange = nil
    stream.body = []
  }
}
