internal import CNghttp2
internal import HTTPProtocol
internal import Time
internal import Transport

/// HTTP/2 on a connection: many requests at a time, each planned and answered as in HTTP/1.1.
final class HTTP2Connection: DrainableProtocol {
  /// The connection lets go of this object when it ends, which breaks the cycle.
  let connection: Connection
  let loop: EventLoop
  let server: ServerLoop
  var session: HTTP2Session?
  let limits: RequestParser.Limits
  var streams: [Int32: HTTP2Stream] = [:]
  var allowance: HTTP2Allowance
  /// Tasks that answer, those whose streams were cancelled among them.
  var runningTasks = 0
  /// Streams whose answer's body is not sent whole.
  var responding = 0
  var hadRequest = false
  /// How much has come of requests that were answered already since there was no stream, in bytes.
  var discarded = 0
  private var peerHasEnded = false
  /// Since when the peer has been told that the end is near.
  private(set) var leavingSince: Int64?
  private(set) var isLastStreamSaid = false
  /// Since when there has been no stream.
  var idleSince: Int64
  /// Since when a header block has been coming in, and how many frames go on with it.
  var blockSince: Int64?
  var continuations = 0
  /// How much of a trailer has come, in bytes.
  var trailerSize = 0
  /// How much of responses' bodies has been sent, in bytes, and whether that is fast enough.
  var sentBody = 0
  private var sentWindow = RateWindow()

  /// Above how many unsent bytes no frame is made, and none is read. With a frame more they fit into a loop's buffer.
  private static let outputLimit = 40 << 10
  /// How long it is awaited that the peer answers the PING behind the notice of the end, in milliseconds.
  private static let noticeTimeout: Int64 = 1_000
  /// How long the rest of a request may come after its answer, in milliseconds.
  static let lingerTimeout: Int64 = 2_000
  /// How much may come of requests that are answered already until there is no stream, in bytes.
  static let discardLimit = 16 << 20

  /// - Returns: nil when memory is short.
  init?(_ connection: Connection, _ server: ServerLoop) {
    self.connection = connection
    self.server = server
    loop = connection.loop
    var limits = RequestParser.Limits()
    limits.head = server.core.options.head
    self.limits = limits
    allowance = HTTP2Allowance(now: loop.now)
    idleSince = loop.now
    session = HTTP2Session(for: self, headerListSize: limits.head)
    guard session != nil else { return nil }
    pump()
  }

  // MARK: - Bytes

  func received(_ input: RawSpan) {
    guard let session else { return }
    let failure = session.receive(input)
    if failure != 0 {
      switch nghttp2_error(failure) {
      case NGHTTP2_ERR_FLOODED, NGHTTP2_ERR_TOO_MANY_CONTINUATIONS: enhanceYourCalm()
      // In what a callback refused, the peer has been told.
      case NGHTTP2_ERR_CALLBACK_FAILURE: break
      default: session.terminate(NGHTTP2_PROTOCOL_ERROR)
      }
    }
    pump()
    if failure != 0 { return connection.finish() }
    if connection.backlog >= HTTP2Connection.outputLimit { connection.pauseReading() }
  }

  func peerEnded() {
    peerHasEnded = true
    finishIfDone()
  }

  func drained() {
    pump()
    if connection.isOpen, connection.backlog < HTTP2Connection.outputLimit {
      connection.resumeReading()
    }
  }

  /// Writes what nghttp2 has to say, as much as the peer takes.
  func pump() {
    guard let session else { return }
    while connection.isOpen, connection.backlog < HTTP2Connection.outputLimit {
      let hadMore = unsafe session.withNextOutput { bytes in
        connection.stage { unsafe $0.append(contentsOf: bytes) }
      }
      guard hadMore else { break }
    }
    finishIfDone()
  }

  private func finishIfDone() {
    guard connection.isOpen, let session else { return }
    let isDone = streams.isEmpty && (peerHasEnded || isLastStreamSaid)
    if isDone || session.isOver { connection.finish() }
  }

  // MARK: - Time

  func tick() {
    if connection.isStalled { return connection.cut() }
    let options = server.core.options
    let now = loop.now
    endLingeringStreams()
    if let leavingSince, !isLastStreamSaid, now - leavingSince > HTTP2Connection.noticeTimeout {
      refuseFurtherStreams()
      return pump()
    }
    if let blockSince, now - blockSince > options.headerTimeout.milliseconds {
      enhanceYourCalm()
      return pump()
    }
    guard connection.backlog == 0 else {
      // The peer reads, and by the connection's measure fast enough.
      idleSince = now
      return beginWindow()
    }
    if streams.isEmpty {
      let limit = hadRequest ? options.idleTimeout : options.headerTimeout
      guard now - idleSince > limit.milliseconds else { return }
      session?.terminate(NGHTTP2_NO_ERROR)
      return pump()
    }
    if isReaderTooSlow { return connection.cut() }
    for stream in Array(streams.values) { checkBody(of: stream) }
    pump()
  }

  func beginWindow() { sentWindow = RateWindow(now: loop.now, count: sentBody) }

  /// Whether responses wait for flow-control windows that the peer doesn't open.
  private var isReaderTooSlow: Bool {
    responding > 0
      && sentWindow.isTooSlow(for: server.core.minimumRate, count: sentBody, now: loop.now)
  }

  private func checkBody(of stream: HTTP2Stream) {
    guard case .body = stream.state,
      stream.bodyWindow.isTooSlow(
        for: server.core.minimumRate, count: stream.body.count, now: loop.now)
    else { return }
    refuse(RequestFailure(.requestTimeout, "the request body took too long"), stream)
  }

  func drain() {
    if streams.isEmpty {
      isLastStreamSaid = true
      session?.terminate(NGHTTP2_NO_ERROR)
    } else {
      leavingSince = loop.now
      session?.announceEnd()
    }
    pump()
  }

  /// Says which stream is the last, once the peer knows that the end is near: what crossed that notice has come.
  func refuseFurtherStreams() {
    guard leavingSince != nil, !isLastStreamSaid else { return }
    isLastStreamSaid = true
    session?.refuseFurtherStreams()
  }

  func ended() {
    for stream in streams.values { release(stream) }
    streams = [:]
  }
}
