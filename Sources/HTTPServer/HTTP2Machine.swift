internal import CNghttp2
internal import HTTPProtocol
internal import Transport

/// HTTP/2 on one connection, without I/O (RFC 9113): takes bytes, tells of requests, takes responses, gives bytes.
///
/// nghttp2 reads and writes frames, compresses heads, and keeps streams and their windows. What it lets a peer do beyond its
/// share is judged here: floods, long heads, responses that aren't taken, requests that don't end.
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
    /// The peer was told that the end is near.
    case announced(Int64)
    /// The peer was told the last stream that is served.
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
    (self.limits, self.now) = (limits, now)
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
      return (false, takeActions())
    } else {
      for stream in streams.values where isBodyTooSlow(of: stream) {
        actions.append(
          .refuse(stream, RequestFailure(.requestTimeout, "the request body took too long")))
      }
    }
    return (true, takeActions())
  }

  private func isBodyTooSlow(of stream: HTTP2Stream) -> Bool {
    guard case .body = stream.state else { return false }
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
