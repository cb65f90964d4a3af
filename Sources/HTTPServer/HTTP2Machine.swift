internal import CNghttp2
internal import HTTPProtocol
internal import Transport

/// HTTP/2 on one connection, without I/O (RFC 9113): takes bytes, reports requests, accepts responses, returns bytes.
///
/// nghttp2 reads and writes frames, compresses heads, and keeps streams and their windows. What it lets a peer do beyond its
/// share is decided here: floods, long heads, responses that aren't taken, requests that don't end.
final class HTTP2Machine {
  /// The limits and times of a connection; times are in milliseconds.
  struct Limits {
    var request = RequestParser.Limits()
    /// The time for a head, also for the first one.
    var headTime: Int64 = 10_000
    /// The time without a request.
    var idleTime: Int64 = 60_000
    var rate = MinimumRate()
  }

  /// A step for the server.
  enum Action {
    /// A request's head has come, with a body behind it or without.
    case head(HTTP2Stream, RequestHead, hasBody: Bool)
    /// A request can't be taken, or no longer.
    case refuse(HTTP2Stream, RequestFailure)
    case body(HTTP2Stream, [UInt8])
    /// A request is whole.
    case end(HTTP2Stream)
    /// Bytes of the response were written.
    case wrote(HTTP2Stream)
    case closed(HTTP2Stream)
  }

  /// A reason for which the connection is over.
  enum Fault {
    /// The peer gave more work than it took responses (RFC 9113 section 10.5).
    case flood
    case protocolViolated
  }

  /// The progress of the connection's end (RFC 9113 section 6.8).
  enum Departure {
    case none
    /// The peer was notified that the end is near.
    case announced(Int64)
    /// The peer was notified of the last stream that is served.
    case complete
  }

  /// The header block that is coming in.
  struct HeaderBlock {
    let since: Int64
    var continuations = 0
    /// The size of a trailer, in bytes.
    var trailer = 0
  }

  /// The number of bytes of header fields after which others have their turns. A few bytes of HPACK make thousands.
  static let turnLimit = 128 << 10
  /// A header block within the limits needs no more CONTINUATION frames.
  static let continuationLimit = 8
  /// The time in which the peer should acknowledge the PING behind the notice of the end.
  private static let noticeTime: Int64 = 1_000
  /// The time in which the rest of a request may come after its response.
  static let lingerTime: Int64 = 2_000
  /// The number of bytes of requests that may come after their responses, until there is no stream.
  static let discardLimit = 16 << 20

  let limits: Limits
  var session: HTTP2Session?
  var streams: [Int32: HTTP2Stream] = [:]
  var actions: [Action] = []
  var fault: Fault?
  /// True if nghttp2 was stopped within a head, because others are to have their turns.
  var isPaused = false
  /// The number of bytes of responses' bodies that wait to be sent.
  var untaken = 0

  /// The moment of the present call, in milliseconds.
  var now: Int64
  var allowance: HTTP2Allowance
  var block: HeaderBlock?
  /// The bytes of header fields that were taken in this turn.
  var takenFields = 0
  /// The number of bytes of requests that came after their responses, since there was no stream.
  var discarded = 0
  var departure = Departure.none
  var hadRequest = false
  /// The moment at which the last stream ended.
  var idleSince: Int64
  /// The number of streams whose response is not sent whole, and the measure of how fast the peer takes them.
  var responding = 0
  var sentBody = 0
  var sentWindow = RateWindow()
  /// The output while frames are written, and the length from which no further frame is.
  var output: [UInt8] = []
  var outputLimit = 0

  /// - Returns: nil when memory is short.
  init?(_ limits: Limits, now: Int64) {
    self.limits = limits
    self.now = now
    allowance = HTTP2Allowance(now: now)
    idleSince = now
    session = HTTP2Session(for: self, headerListSize: limits.request.head)
    guard session != nil else { return nil }
  }

  // MARK: - Time

  /// Looks at the clock.
  ///
  /// - Parameter isBackedUp: whether output waits, whose reader is fast enough by the connection's measure.
  /// - Returns: whether the peer reads fast enough, and what time has made of its requests.
  func tick(now: Int64, isBackedUp: Bool) -> (isFastEnough: Bool, actions: [Action]) {
    self.now = now
    // Ends the streams whose requests don't end although they have been responded to.
    for stream in streams.values where stream.lingerDeadline.map({ now > $0 }) ?? false {
      reset(stream, NGHTTP2_NO_ERROR)
    }
    if case .announced(let since) = departure, now - since > HTTP2Machine.noticeTime {
      refuseFurtherStreams()
    } else if let block, now - block.since > limits.headTime {
      enhanceYourCalm()
    } else if isBackedUp {
      idleSince = now
      sentWindow = RateWindow(now: now, count: sentBody)
    } else if streams.isEmpty {
      if now - idleSince > (hadRequest ? limits.idleTime : limits.headTime) {
        session?.terminate(NGHTTP2_NO_ERROR)
      }
    } else if responding > 0, sentWindow.isTooSlow(for: limits.rate, count: sentBody, now: now) {
      return (false, drainActions())
    } else {
      for stream in streams.values where isBodyTooSlow(of: stream) {
        actions.append(
          .refuse(stream, RequestFailure(.requestTimeout, "the request body took too long")))
      }
    }
    return (true, drainActions())
  }

  private func isBodyTooSlow(of stream: HTTP2Stream) -> Bool {
    guard case .body = stream.state else { return false }
    guard stream.unconsumed == 0 else {
      // The handler lets the client wait.
      stream.bodyWindow = RateWindow(now: now, count: stream.received)
      return false
    }
    return stream.bodyWindow.isTooSlow(for: limits.rate, count: stream.received, now: now)
  }

  /// Begins the connection's end: at once if no stream is open.
  func leave(now: Int64) {
    if streams.isEmpty {
      departure = .complete
      session?.terminate(NGHTTP2_NO_ERROR)
    } else {
      departure = .announced(now)
      session?.announceEnd()
    }
  }

  /// Names the last stream that is served, once the peer knows that the end is near and its last requests have come.
  func refuseFurtherStreams() {
    guard case .announced = departure else { return }
    departure = .complete
    session?.refuseFurtherStreams()
  }
}

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
      // The peer has been notified by the callback that refused.
      case NGHTTP2_ERR_CALLBACK_FAILURE: break
      default: session.terminate(NGHTTP2_PROTOCOL_ERROR)
      }
      fault = fault ?? .protocolViolated
    }
    isPaused = taken >= 0 && isTurnOver
    return (max(0, taken), drainActions())
  }

  func drainActions() -> [Action] { exchange(&actions, with: []) }

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
      stream.collector.add(name: name, value: value)
      size = stream.collector.size
    }
    // A head that is somewhat too large gets 431; one that is many times too large was made to be.
    return size <= 4 * max(limits.request.head, 16 << 10) || enhanceYourCalm()
  }

  /// Records a frame that nghttp2 refused.
  func receivedFault(_ price: HTTP2Allowance.Charge) -> Bool {
    block = nil
    return charge(price)
  }

  /// Records a frame whose type is unknown.
  func receivedUnknownFrame() -> Bool { charge(.idleFrame) }

  /// Records that a frame has come whole; with its CONTINUATIONs, if it was a head.
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
    session?.consumeOnConnection(bytes.count)
    guard let stream = streams[id] else { return }
    stream.unconsumed += bytes.count
    guard case .body = stream.state else {
      consumeBody(of: stream)
      return discard(bytes.count, of: stream)
    }
    if !stream.isHeldBack { consumeBody(of: stream) }
    stream.received += bytes.count
    unsafe actions.append(.body(stream, Array(bytes)))
  }

  /// Lets the peer send more of a body, in place of what was consumed.
  func consumeBody(of stream: HTTP2Stream) {
    guard stream.unconsumed > 0 else { return }
    session?.consume(stream.unconsumed, of: stream.id)
    stream.unconsumed = 0
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
    refund(stream)
    actions.append(.closed(stream))
    guard streams.isEmpty else { return }
    idleSince = now
    discarded = 0
  }
}

extension nghttp2_frame_hd {
  var endsStream: Bool { flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 }
}

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
    return (self.output.count > before, drainActions())
  }

  /// True if nothing more is to be sent or received.
  var isOver: Bool { session?.isOver ?? true }

  /// True if no stream is open, and none will be.
  var isComplete: Bool { if case .complete = departure { streams.isEmpty } else { false } }

  /// Asks for the body (RFC 9110 section 15.2.1).
  func requestBody(of stream: HTTP2Stream) { session?.submitContinue(to: stream.id) }

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
    if response.hasLaterBody { stream.hasPieces = !stream.isHead }
    if count > 0 { attach(response.body, for: stream) }
    if session?.submit(&fields, hasBody: count > 0 || stream.hasPieces, to: stream.id) != true {
      reset(stream, NGHTTP2_INTERNAL_ERROR)
    }
  }

  /// Takes the next part of the body to be sent on a stream.
  private func attach(_ body: Response.Body, for stream: HTTP2Stream) {
    stream.payload = body
    stream.offset = 0
    untaken += body.count
    if responding == 0 { sentWindow = RateWindow(now: now, count: sentBody) }
    responding += 1
    stream.isCounted = true
  }

  /// Records that a stream has nothing to be sent.
  func refund(_ stream: HTTP2Stream) {
    if stream.isCounted { responding -= 1 }
    stream.isCounted = false
  }

  /// Takes a piece of a body that is made as it is sent, when the one before has been sent.
  func send(_ piece: [UInt8], to stream: HTTP2Stream, now: Int64) {
    self.now = now
    attach(.array(piece), for: stream)
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
      stream.dequeuePayload(count, into: &output)
      if stream.hasPieces, stream.remaining == 0 { refund(stream) }
      actions.append(.wrote(stream))
    }
    return true
  }

  /// Records that a frame was sent.
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

/// The useless work that an HTTP/2 peer may still give, which bounds rapid reset (CVE-2023-44487) and floods of cheap
/// frames.
///
/// It is an account in points. Frames that cost the peer less than the server take from it; time and responses that the
/// peer really took give to it. A peer that overdraws it is told `ENHANCE_YOUR_CALM` (RFC 9113 section 10.5).
struct HTTP2Allowance {
  /// A reason for which points are taken.
  enum Charge: Int {
    /// A frame that asks for nothing: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, an empty DATA, an unknown one.
    case idleFrame = 1
    /// A request that was cancelled, or could not be taken.
    case lostRequest = 4
    /// A frame that breaks the protocol, or a head beyond the limits.
    case fault = 20
  }

  /// A reason for which points are given.
  enum Credit: Int {
    /// A frame with data of a response, whose reader sends up to two WINDOW_UPDATEs for it.
    case sentData = 3
    /// A response sent whole.
    case sentResponse = 4
  }

  static let limit = 800
  /// The number of points that come back in a second.
  static let perSecond = 40

  private var points = limit
  /// The moment up to which time has been credited, in milliseconds.
  private var creditedUntil: Int64

  /// A full account.
  ///
  /// - Parameter now: the loop's clock in milliseconds.
  init(now: Int64) { creditedUntil = now }

  /// Takes points.
  ///
  /// - Returns: whether there were enough.
  mutating func charge(_ charge: Charge, now: Int64) -> Bool {
    let earned = (now - creditedUntil) * Int64(HTTP2Allowance.perSecond) / 1000
    if earned > 0 {
      creditedUntil = now
      points = min(HTTP2Allowance.limit, points + Int(clamping: earned))
    }
    points -= charge.rawValue
    return points >= 0
  }

  mutating func credit(_ credit: Credit) {
    points = min(HTTP2Allowance.limit, points + credit.rawValue)
  }
}
