internal import CNghttp2
internal import HTTPProtocol
internal import Transport

// Requests: the bytes that come, and nghttp2's callbacks for their frames.
extension HTTP2Machine {
  /// Takes bytes of the peer, as many as one turn allows: with ``isPaused`` the rest is to be given again later.
  ///
  /// - Returns: the number of bytes that were taken, and what they mean.
  func receive(_ input: RawSpan, now: Int64) -> (count: Int, actions: [Action]) {
    guard let session, fault == nil else { return (input.byteCount, []) }
    self.now = now
    takenFields = 0
    let taken = session.receive(input)
    if taken < 0 {
      switch nghttp2_error(Int32(clamping: taken)) {
      case NGHTTP2_ERR_FLOODED, NGHTTP2_ERR_TOO_MANY_CONTINUATIONS: enhanceYourCalm()
      // The peer has been told by the callback that refused.
      case NGHTTP2_ERR_CALLBACK_FAILURE: break
      default: session.terminate(NGHTTP2_PROTOCOL_ERROR)
      }
      fault = fault ?? .protocolViolated
    }
    isPaused = taken >= 0 && isTurnOver
    return (max(0, taken), takeActions())
  }

  func takeActions() -> [Action] { exchange(&actions, with: []) }

  /// True if others are to have their turns.
  var isTurnOver: Bool { takenFields >= HTTP2Machine.turnLimit }

  /// Ends the connection, because the peer gives more work than it takes responses.
  ///
  /// - Returns: false, for callbacks that don't go on.
  @discardableResult
  func enhanceYourCalm() -> Bool {
    fault = .flood
    session?.terminate(NGHTTP2_ENHANCE_YOUR_CALM)
    return false
  }

  func charge(_ charge: HTTP2Allowance.Charge) -> Bool {
    allowance.charge(charge, now: now) || enhanceYourCalm()
  }

  /// Takes the header of a frame.
  ///
  /// - Returns: whether to go on, as from all callbacks for frames that come.
  func began(_ header: nghttp2_frame_hd) -> Bool {
    switch nghttp2_frame_type(UInt32(header.type)) {
    case NGHTTP2_HEADERS:
      block = HeaderBlock(since: now)
      return true
    case NGHTTP2_CONTINUATION:
      block?.continuations += 1
      return block?.continuations ?? 0 <= HTTP2Machine.continuationLimit || enhanceYourCalm()
    case NGHTTP2_DATA: return header.length > 0 || header.endsStream || charge(.idleFrame)
    case NGHTTP2_RST_STREAM: return charge(.lostRequest)
    default: return charge(.idleFrame)
    }
  }

  func beganRequest(_ id: Int32) {
    hadRequest = true
    streams[id] = HTTP2Stream(id, limits: limits.request)
  }

  /// Takes a header field, or drops a trailer field.
  func tookField(_ name: RawSpan, _ value: RawSpan, of id: Int32, isTrailer: Bool) -> Bool {
    let size: Int
    let taken = name.byteCount + value.byteCount + 32
    takenFields += taken
    if isTrailer {
      block?.trailer += taken
      size = block?.trailer ?? 0
    } else {
      guard let stream = streams[id] else { return true }
      stream.collector.take(name: name, value: value)
      size = stream.collector.size
    }
    // A head that is somewhat too large gets 431; one that is many times too large was made to be.
    return size <= 4 * max(limits.request.head, 16 << 10) || enhanceYourCalm()
  }

  /// Takes note of a frame that nghttp2 refused.
  func receivedFault(_ price: HTTP2Allowance.Charge) -> Bool {
    block = nil
    return charge(price)
  }

  /// Takes note of a frame whose type is unknown.
  func receivedUnknownFrame() -> Bool { charge(.idleFrame) }

  /// Takes note that a frame has come whole; with its CONTINUATIONs, if it was a head.
  func received(_ header: nghttp2_frame_hd, isHead: Bool) -> Bool {
    if header.type == UInt8(NGHTTP2_HEADERS.rawValue) { block = nil }
    if header.type == UInt8(NGHTTP2_PING.rawValue),
      header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
    {
      refuseFurtherStreams()
    }
    guard let stream = streams[header.stream_id] else { return true }
    if isHead {
      stream.state = .body
      stream.bodyWindow = RateWindow(now: now)
      do throws(RequestFailure) {
        let head = try stream.collector.finish(hasBody: !header.endsStream)
        stream.isHead = head.method == .head
        actions.append(.head(stream, head, hasBody: !header.endsStream))
      } catch {
        actions.append(.refuse(stream, error))
        return charge(.fault)
      }
      stream.collector = RequestHeadCollector(limits: limits.request)
    }
    if header.endsStream, case .body = stream.state {
      stream.state = .whole
      actions.append(.end(stream))
    }
    return true
  }

  func receivedBody(_ bytes: UnsafeBufferPointer<UInt8>, of id: Int32) {
    guard let stream = streams[id] else { return }
    guard case .body = stream.state else { return discard(bytes.count, of: stream) }
    stream.received += bytes.count
    unsafe actions.append(.body(stream, Array(bytes)))
  }

  /// Drops what comes of a request after its response.
  ///
  /// It need not be taken (RFC 9113 section 8.1), but many clients don't look at the response when the stream is reset
  /// while they send. The stream stays one of those that a peer may have under way.
  func discard(_ count: Int, of stream: HTTP2Stream) {
    discarded += count
    if discarded > HTTP2Machine.discardLimit, stream.lingerDeadline != nil {
      reset(stream, NGHTTP2_NO_ERROR)
    }
  }

  func closed(_ id: Int32) {
    guard let stream = streams.removeValue(forKey: id) else { return }
    stream.state = .closed
    untaken -= stream.remaining
    uncount(stream)
    actions.append(.closed(stream))
    guard streams.isEmpty else { return }
    idleSince = now
    discarded = 0
  }
}

extension nghttp2_frame_hd {
  var endsStream: Bool { flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 }
}
