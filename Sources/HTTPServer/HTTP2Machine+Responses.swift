internal import CNghttp2
internal import HTTPProtocol
internal import Transport

// Responses: the bytes that go, and nghttp2's callbacks for their frames.
extension HTTP2Machine {
  /// Appends frames to the output until it has a number of bytes.
  ///
  /// - Returns: whether there were any, and what that means.
  func write(
    into output: inout [UInt8], upTo limit: Int, now: Int64
  ) -> (hadFrames: Bool, actions: [Action]) {
    guard let session else { return (false, []) }
    self.now = now
    outputLimit = limit
    swap(&self.output, &output)
    defer { swap(&self.output, &output) }
    let before = self.output.count
    while self.output.count < limit,
      unsafe session.withNextOutput({ unsafe self.output.append(contentsOf: $0) })
    {}
    return (self.output.count > before, takeActions())
  }

  /// True if nothing more is to be sent or received.
  var isOver: Bool { session?.isOver ?? true }

  /// True if no stream is open, and none will be.
  var isComplete: Bool { if case .complete = departure { streams.isEmpty } else { false } }

  /// Asks for the body (RFC 9110 section 15.2.1).
  func askForBody(of stream: HTTP2Stream) { session?.submitContinue(to: stream.id) }

  /// Ends a stream.
  func reset(_ stream: HTTP2Stream, _ code: nghttp2_error_code) { session?.reset(stream.id, code) }

  /// Refuses a request that may be sent again elsewhere (RFC 9113 section 8.7).
  func turnAway(_ stream: HTTP2Stream) {
    reset(stream, NGHTTP2_REFUSED_STREAM)
    _ = charge(.lostRequest)
  }

  /// The number of bytes that a response will have besides its head.
  func payload(of response: Response, to stream: HTTP2Stream) -> Int {
    let hasNone =
      stream.isHead || response.status.forbidsBody || response.status == .upgradeRequired
    return hasNone ? 0 : response.body.count
  }

  /// Responds to a request.
  ///
  /// - Parameter date: a prepared line as ``HTTPDate/fieldLine`` gives it.
  func respond(_ response: Response, to stream: HTTP2Stream, date: [UInt8], now: Int64) {
    self.now = now
    stream.state = .responded
    // HTTP/2 has no `Upgrade`, but a code for requests that need HTTP/1.1 (RFC 9113 section 7).
    guard response.status != .upgradeRequired else {
      return reset(stream, NGHTTP2_HTTP_1_1_REQUIRED)
    }
    var fields = HTTP2Fields(response, date: date, headOnly: stream.isHead)
    let count = payload(of: response, to: stream)
    if case .pieces = response.body { stream.hasPieces = !stream.isHead }
    if count > 0 { take(response.body, for: stream) }
    if session?.submit(&fields, hasBody: count > 0 || stream.hasPieces, to: stream.id) != true {
      reset(stream, NGHTTP2_INTERNAL_ERROR)
    }
  }

  /// Takes the next part of the body to be sent on a stream.
  private func take(_ body: Response.Body, for stream: HTTP2Stream) {
    (stream.payload, stream.offset) = (body, 0)
    untaken += body.count
    if responding == 0 { sentWindow = RateWindow(now: now, count: sentBody) }
    responding += 1
    stream.isCounted = true
  }

  /// Takes note that a stream has nothing to be sent.
  func uncount(_ stream: HTTP2Stream) {
    if stream.isCounted { responding -= 1 }
    stream.isCounted = false
  }

  /// Takes a piece of a body that is made as it is sent, when the one before has been sent.
  func send(_ piece: [UInt8], to stream: HTTP2Stream, now: Int64) {
    self.now = now
    take(.array(piece), for: stream)
    session?.resume(stream.id)
  }

  /// Ends a body that was made as it was sent.
  ///
  /// - Parameter isWhole: whether all of it was made; if not, the stream is reset.
  func endPieces(of stream: HTTP2Stream, isWhole: Bool) {
    stream.hasPieces = false
    if isWhole { session?.resume(stream.id) } else { reset(stream, NGHTTP2_INTERNAL_ERROR) }
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
    guard output.count < outputLimit else { return false }
    allowance.credit(.sentData)
    sentBody += count
    untaken -= count
    unsafe output.append(contentsOf: header)
    if let stream = streams[id] {
      stream.takePayload(count, into: &output)
      if stream.hasPieces, stream.remaining == 0 { uncount(stream) }
      actions.append(.wrote(stream))
    }
    return true
  }

  /// Takes note that a frame was sent.
  func sent(_ header: nghttp2_frame_hd) {
    if header.type == UInt8(NGHTTP2_GOAWAY.rawValue), case .announced = departure {
      // Its acknowledgement tells that the peer knows. Queued together with the notice it would overtake that.
      session?.ping()
    }
    guard header.type <= UInt8(NGHTTP2_HEADERS.rawValue), header.endsStream,
      let stream = streams[header.stream_id]
    else { return }
    allowance.credit(.sentResponse)
    if let session, !session.hasEnded(stream.id) {
      stream.lingerDeadline = now + HTTP2Machine.lingerTime
    }
  }
}
