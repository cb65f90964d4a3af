internal import CNghttp2
internal import Formats
internal import HTTPProtocol
internal import Transport

/// nghttp2's side of an HTTP/2 connection: frames, header compression, streams' states and flow control.
///
/// Its callbacks are passed on to the machine. They come only from within ``receive(_:)`` and
/// ``withNextOutput(_:)``, which must not be called from a callback.
@safe
final class HTTP2Session {
  /// The number of requests that a peer may have under way.
  static let concurrentStreams = 100
  /// The flow-control windows of a stream and of the connection, in bytes.
  private static let streamWindow = 256 << 10
  private static let connectionWindow = 1 << 20

  private let pointer: OpaquePointer

  /// A session that has announced its settings.
  ///
  /// - Parameters:
  ///   - machine: the receiver of the callbacks; it must outlive the session.
  ///   - headerListSize: the largest header list that is announced to be taken, in bytes.
  init?(for machine: HTTP2Machine, headerListSize: Int) {
    var session: OpaquePointer?
    let made = unsafe nghttp2_session_server_new2(
      &session, HTTP2Session.callbacks, Unmanaged.passUnretained(machine).toOpaque(),
      HTTP2Session.options)
    guard made == 0, let session = unsafe session else { return nil }
    unsafe pointer = session
    let settings = [
      (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, HTTP2Session.concurrentStreams),
      (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, HTTP2Session.streamWindow),
      (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, headerListSize),
      (NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
    ].map { nghttp2_settings_entry(settings_id: Int32($0.rawValue), value: UInt32($1)) }
    let none = HTTP2Session.noFlags
    guard unsafe nghttp2_submit_settings(session, none, settings, settings.count) == 0,
      unsafe nghttp2_session_set_local_window_size(
        session, none, 0, Int32(HTTP2Session.connectionWindow)) == 0
    else { return nil }
  }

  deinit { unsafe nghttp2_session_del(pointer) }

  private static let noFlags = UInt8(NGHTTP2_FLAG_NONE.rawValue)

  // MARK: - Bytes

  /// Takes bytes of the peer.
  ///
  /// - Returns: the number of bytes that were taken, which are not all if the turn is over; or nghttp2's
  ///   error, which is negative: then the session is over.
  func receive(_ input: RawSpan) -> Int {
    unsafe input.withUnsafeBytes { bytes in
      unsafe nghttp2_session_mem_recv(
        pointer, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    }
  }

  /// Lends the next frame to be sent to a closure.
  ///
  /// - Returns: whether there was one.
  func withNextOutput(_ body: (UnsafeBufferPointer<UInt8>) -> Void) -> Bool {
    var start: UnsafePointer<UInt8>?
    let count = unsafe nghttp2_session_mem_send(pointer, &start)
    guard count > 0 else { return false }
    unsafe body(UnsafeBufferPointer(start: start, count: count))
    return true
  }

  /// True if nothing more is to be sent or received.
  var isOver: Bool {
    unsafe nghttp2_session_want_read(pointer) == 0 && nghttp2_session_want_write(pointer) == 0
  }

  // MARK: - Output

  /// Submits the head of a response; its body is asked for later if there is one.
  ///
  /// - Returns: whether the stream takes it.
  func submit(_ fields: inout HTTP2Fields, hasBody: Bool, to stream: Int32) -> Bool {
    var source = unsafe nghttp2_data_provider()
    unsafe source.read_callback = HTTP2Session.readBody
    return unsafe withUnsafePointer(to: source) { source in
      unsafe fields.withNameValues { values, count in
        unsafe nghttp2_submit_response(pointer, stream, values, count, hasBody ? source : nil)
      } == 0
    }
  }

  /// Records that more of a body can be sent, or that it has ended.
  func resume(_ stream: Int32) { unsafe nghttp2_session_resume_data(pointer, stream) }

  /// Asks for the body (RFC 9110 section 15.2.1).
  func submitContinue(to stream: Int32) {
    var fields = HTTP2Fields.interim
    _ = unsafe fields.withNameValues { values, count in
      unsafe nghttp2_submit_headers(pointer, HTTP2Session.noFlags, stream, nil, values, count, nil)
    }
  }

  /// Lets the peer send as many bytes more on the connection.
  func consumeOnConnection(_ count: Int) {
    unsafe nghttp2_session_consume_connection(pointer, count)
  }

  /// Lets the peer send as many bytes more on a stream.
  func consume(_ count: Int, of stream: Int32) {
    unsafe nghttp2_session_consume_stream(pointer, stream, count)
  }

  /// Returns whether all of a stream's request has come.
  func hasEnded(_ stream: Int32) -> Bool {
    unsafe nghttp2_session_get_stream_remote_close(pointer, stream) != 0
  }

  /// Ends a stream.
  func reset(_ stream: Int32, _ code: nghttp2_error_code) {
    unsafe nghttp2_submit_rst_stream(pointer, HTTP2Session.noFlags, stream, code.rawValue)
  }

  /// Ends the session: the peer is notified of the last stream that is served, and nothing more is taken.
  func terminate(_ code: nghttp2_error_code) {
    unsafe nghttp2_session_terminate_session(pointer, code.rawValue)
  }

  /// Announces the end, while requests are still taken (RFC 9113 section 6.8).
  func announceEnd() { unsafe nghttp2_submit_shutdown_notice(pointer) }

  /// Pings the peer, before all else that waits to be sent.
  func ping() { unsafe nghttp2_submit_ping(pointer, HTTP2Session.noFlags, nil) }

  /// Notifies the peer of the last stream that is served.
  func refuseFurtherStreams() {
    let last = unsafe nghttp2_session_get_last_proc_stream_id(pointer)
    unsafe nghttp2_submit_goaway(
      pointer, HTTP2Session.noFlags, last, NGHTTP2_NO_ERROR.rawValue, nil, 0)
  }

  // MARK: - Callbacks

  private static func machine(_ data: UnsafeMutableRawPointer?) -> HTTP2Machine {
    // The machine owns the session, and both end after the last callback.
    unsafe Unmanaged.object(of: data)
  }

  /// The result of a callback: to go on, or, when the peer has been told to calm down, to stop.
  private static func result(_ goesOn: Bool) -> Int32 {
    goesOn ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
  }

  /// The body is not copied here: nghttp2 asks for it once more when the frame is written.
  private static let readBody: nghttp2_data_source_read_callback = {
    _, stream, _, limit, flags, _, data in
    let (remaining, hasMore) = unsafe machine(data).remaining(of: stream)
    if remaining == 0, hasMore { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
    var value = NGHTTP2_DATA_FLAG_NO_COPY.rawValue
    if remaining <= limit, !hasMore { value |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    unsafe flags?.pointee |= UInt32(value)
    return min(remaining, limit)
  }

  /// Made once for the process, and never freed; nil only when memory is short, and then no session can be made.
  private nonisolated(unsafe) static let options: OpaquePointer? = {
    // Safe to share: set up here, copied by every session.
    var options: OpaquePointer?
    unsafe nghttp2_option_new(&options)
    // The machine counts resets by itself, and says what is wrong.
    unsafe nghttp2_option_set_stream_reset_rate_limit(options, .max, .max)
    unsafe nghttp2_option_set_no_closed_streams(options, 1)
    // A body that is handled while it comes makes its client wait.
    unsafe nghttp2_option_set_no_auto_window_update(options, 1)
    // Frames of unknown types would be skipped without a call.
    for type in UInt8(NGHTTP2_ALTSVC.rawValue)...UInt8.max {
      unsafe nghttp2_option_set_user_recv_extension_type(options, type)
    }
    return unsafe options
  }()

  /// Made as ``options`` are.
  private nonisolated(unsafe) static let callbacks: OpaquePointer? = {
    // Safe to share: set up here, copied by every session.
    var callbacks: OpaquePointer?
    unsafe nghttp2_session_callbacks_new(&callbacks)
    unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, header, data in
      guard let header = unsafe header else { return 0 }
      return unsafe result(machine(data).began(header.pointee))
    }
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, data in
      guard let frame = unsafe frame else { return 0 }
      if unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
        unsafe machine(data).beganRequest(frame.pointee.hd.stream_id)
      }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, frame, name, nameLength, value, valueLength, _, data in
      guard let frame = unsafe frame else { return 0 }
      let isRequest = unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
      let name = unsafe RawSpan(
        _unsafeBytes: UnsafeRawBufferPointer(start: name, count: nameLength))
      let value = unsafe RawSpan(
        _unsafeBytes: UnsafeRawBufferPointer(start: value, count: valueLength))
      let machine = unsafe machine(data)
      let goesOn = unsafe machine.tookField(
        name, value, of: frame.pointee.hd.stream_id, isTrailer: !isRequest)
      return goesOn && machine.isTurnOver ? NGHTTP2_ERR_PAUSE.rawValue : result(goesOn)
    }
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, data in
      guard let frame = unsafe frame else { return 0 }
      let isHead =
        unsafe frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue)
        && frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
      return unsafe result(machine(data).received(frame.pointee.hd, isHead: isHead))
    }
    unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) {
      _, _, error, data in
      // More requests than may be under way, of a peer that has not read the settings yet.
      let isEarly = error == NGHTTP2_ERR_REFUSED_STREAM.rawValue
      return unsafe result(machine(data).receivedFault(isEarly ? .idleFrame : .fault))
    }
    unsafe nghttp2_session_callbacks_set_unpack_extension_callback(callbacks) { _, _, _, data in
      let goesOn = unsafe machine(data).receivedUnknownFrame()
      // It is done with.
      return goesOn ? NGHTTP2_ERR_CANCEL.rawValue : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
      _, _, stream, bytes, count, data in
      let bytes = unsafe UnsafeBufferPointer(start: bytes, count: count)
      unsafe machine(data).receivedBody(bytes, of: stream)
      return 0
    }
    unsafe nghttp2_session_callbacks_set_send_data_callback(callbacks) {
      _, frame, header, count, _, data in
      guard let frame = unsafe frame else { return 0 }
      let header = unsafe UnsafeBufferPointer(start: header, count: 9)
      let isSent = unsafe machine(data).sendBody(
        count, of: frame.pointee.hd.stream_id, behind: header)
      // It is offered again by the next call that asks for output.
      return isSent ? 0 : NGHTTP2_ERR_WOULDBLOCK.rawValue
    }
    unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, data in
      guard let frame = unsafe frame else { return 0 }
      unsafe machine(data).sent(frame.pointee.hd)
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) {
      _, stream, _, data in
      unsafe machine(data).closed(stream)
      return 0
    }
    return unsafe callbacks
  }()
}

/// One request and its response on an HTTP/2 connection.
final class HTTP2Stream {
  enum State {
    /// Header fields come.
    case head
    /// A body comes.
    case body
    /// The request is whole.
    case whole
    /// The response is given to nghttp2; what may still come of the request is dropped.
    case responded
    case closed
  }

  /// The memory of an open stream without its contents, here and in nghttp2, in bytes.
  static let overhead = 1 << 10

  let id: Int32
  var state = State.head
  var collector: RequestHeadCollector
  /// The number of bytes of the body that have come, and the measure of their rate.
  var received = 0
  var bodyWindow = RateWindow()
  /// True if the peer may send more only when the server says so.
  var isHeldBack = false
  /// The bytes for which the peer may not send others yet.
  var unconsumed = 0
  /// The moment by which the rest of the request must come, once the response has been sent before it.
  var lingerDeadline: Int64?
  /// True if the response is to have no body.
  var isHead = false
  /// The body of the response, and the number of its bytes that were sent.
  var payload = Response.Body.none
  var offset = 0
  /// True if the response is counted as one that isn't sent whole.
  var isCounted = false
  /// True if further pieces of the body are to come.
  var hasPieces = false

  // The server's part, which the machine doesn't touch.

  /// The request, from the end of its head until it is given to a handler or refused.
  var exchange: Exchange?
  /// The body that a handler takes while it comes, the most bytes of it, and the head of its request.
  var upload: RequestBody?
  var uploadLimit = 0
  var uploadHead: RequestHead?
  /// The memory of the client whose request this is, and what is charged to it; nil before the end of the head.
  var memory: MemoryCharge?
  var charged = 0
  /// Resumes the maker of the body's pieces, which waits until the last one is sent; false ends it.
  var piecesWait: ((Bool) -> Void)?
  /// Makes and sends the pieces.
  var piecesTask: Task<Void, Never>?
  /// The writer of a body that goes on as long as the client listens, and the moment at which its timer fires.
  var handler: (any ResponseStreamHandler)?
  var timer: Int64?
  /// The bytes behind the payload, of which more may come unless the body is ending.
  var queued: [UInt8] = []
  var highWaterMark = 0
  var isEnding = false

  init(_ id: Int32, limits: RequestParser.Limits) {
    self.id = id
    collector = RequestHeadCollector(limits: limits)
  }

  /// The number of bytes of the response that wait to be sent.
  var remaining: Int { payload.count - offset }

  /// The number of bytes that were given and wait to be sent.
  var backlog: Int { remaining + queued.count }

  /// Appends the next bytes of the response.
  func dequeuePayload(_ count: Int, into output: inout [UInt8]) {
    switch payload {
    case .none, .pieces: break
    case .array(let array): output.append(contentsOf: array[offset..<offset + count])
    case .bytes(let bytes):
      let piece = unsafe UnsafeRawBufferPointer(rebasing: bytes.buffer[offset..<offset + count])
      unsafe output.append(contentsOf: piece)
    }
    offset += count
  }

  /// Changes the charge for the stream.
  ///
  /// - Returns: whether the client may have so much.
  func charge(_ amount: Int) -> Bool {
    let more = amount - charged
    charged = amount
    return more == 0 || memory?.add(more) ?? true
  }
}

/// The head of a response as HTTP/2 sends it (RFC 9113 section 8.3.2).
@safe
struct HTTP2Fields {
  private var bytes: [UInt8] = []
  private var fields: [(name: Range<Int>, value: Range<Int>)] = []

  /// The fields that concern one connection, which HTTP/2 has no use for (RFC 9113 section 8.2.2).
  private static let hopByHop: [StaticString] = [
    "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
  ]

  /// The head of a response.
  ///
  /// - Parameters:
  ///   - date: a prepared line as ``HTTPDate/fieldLine`` gives it.
  ///   - headOnly: whether the request was `HEAD`.
  init(_ response: Response, date: [UInt8], headOnly: Bool) {
    bytes.reserveCapacity(date.count + response.fields.bytes.count + 48)
    fields.reserveCapacity(16)
    append(":status", decimal: Int(response.status.code))
    append(lines: date)
    append(lines: response.fields.bytes)
    // The rule of HTTP/1.1: none where the length that `GET` would have is not known.
    if response.hasLaterBody {
      if let length = response.length { append("content-length", decimal: length) }
      return
    }
    if !response.status.forbidsBody, !headOnly || response.body.count > 0 {
      append("content-length", decimal: response.body.count)
    }
  }

  private init(status: Int) { append(":status", decimal: status) }

  /// The head that asks for the body (RFC 9110 section 15.2.1).
  static let interim = HTTP2Fields(status: 100)

  private mutating func append(_ name: StaticString, decimal value: Int) {
    let start = bytes.count
    name.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
    let middle = bytes.count
    bytes.append(contentsOf: String(value).utf8)
    fields.append((start..<middle, middle..<bytes.count))
  }

  /// Takes lines `Name: value`, each ended by CR LF; names are put in lower case.
  private mutating func append(lines: [UInt8]) {
    let base = bytes.count
    var start = 0
    bytes.append(contentsOf: lines)
    while start < lines.count {
      var colon = start
      while colon < lines.count, lines[colon] != UInt8(ascii: ":") {
        if (0x41...0x5a).contains(lines[colon]) { bytes[base + colon] = lines[colon] | 0x20 }
        colon += 1
      }
      var end = colon
      while end < lines.count, lines[end] != UInt8(ascii: "\r") { end += 1 }
      let name = base + start..<base + colon
      if colon + 2 <= end, !isHopByHop(name) {
        fields.append((name, base + colon + 2..<base + end))
      }
      start = end + 2
    }
  }

  private func isHopByHop(_ name: Range<Int>) -> Bool {
    HTTP2Fields.hopByHop.contains { known in
      known.utf8CodeUnitCount == name.count
        && known.withUTF8Buffer { unsafe bytes[name].elementsEqual($0) }
    }
  }

  /// Lends the fields in nghttp2's form for as long as a closure runs.
  mutating func withNameValues(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Int32) -> Int32 {
    let fields = fields
    return unsafe bytes.withUnsafeMutableBufferPointer { bytes in
      guard let start = bytes.baseAddress else { return 0 }
      return unsafe withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: fields.count) {
        values in
        for (index, field) in fields.enumerated() {
          unsafe values[index] = unsafe nghttp2_nv(
            name: start + field.name.lowerBound, value: start + field.value.lowerBound,
            namelen: field.name.count, valuelen: field.value.count,
            flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue))
        }
        return unsafe body(values.baseAddress, fields.count)
      }
    }
  }
}
