internal import CNghttp2
internal import COpenSSL
internal import Glibc

/// One connection of the stand-in, on a thread of its own.
final class StandInConnection {
  private let number: Int
  private let tls: OpaquePointer
  private let socket: Int32
  private let script: HTTP2StandIn.Script
  private var session: OpaquePointer?
  private var requests: [Int32: StandInRequest] = [:]
  private var whole: [Int32] = []
  private var due:
    [(
      at: Int, among: Int, stream: Int32, status: Int, fields: [String: String], body: String
    )] = []
  /// The largest number of requests that have been under way at once.
  private var most = 0
  private var bodies: [Int32: [UInt8]] = [:]
  private var isLeaving = false
  private var isCut = false

  init(
    _ number: Int, _ tls: OpaquePointer, _ socket: Int32, _ script: @escaping HTTP2StandIn.Script
  ) {
    self.number = number
    self.tls = tls
    self.socket = socket
    self.script = script
  }

  func serve(streams: UInt32, progress: (Int) -> Void) {
    SSL_set_fd(tls, socket)
    guard SSL_accept(tls) == 1 else { return }
    _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
    guard begin(streams: streams) else { return }
    defer { nghttp2_session_del(session) }
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while !isCut, flush() {
      if isLeaving, requests.isEmpty { break }
      let count = SSL_read(tls, &buffer, Int32(buffer.count))
      if count > 0 {
        guard nghttp2_session_mem_recv(session, buffer, Int(count)) == count else { break }
        most = max(most, requests.count)
        progress(most)
        for stream in whole { decide(stream) }
        whole = []
      } else {
        guard SSL_get_error(tls, count) == SSL_ERROR_WANT_READ else { break }
        var event = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        let wait = due.filter { $0.among <= most }.map(\.at).min().map { max(0, $0 - now) } ?? -1
        guard poll(&event, 1, Int32(wait)) >= 0 || errno == EINTR else { break }
      }
      let time = now
      let ripe = due.filter { $0.at <= time && $0.among <= most }
      due.removeAll { $0.at <= time && $0.among <= most }
      for response in ripe {
        send(response.stream, response.status, response.fields, response.body)
      }
    }
    if isCut { return }
    SSL_shutdown(tls)
  }

  private var now: Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
  }

  private func begin(streams: UInt32) -> Bool {
    var callbacks: OpaquePointer?
    nghttp2_session_callbacks_new(&callbacks)
    defer { nghttp2_session_callbacks_del(callbacks) }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, frame, name, nameLength, value, valueLength, _, this in
      guard let frame else { return 0 }
      let name = String(
        decoding: UnsafeBufferPointer(start: name, count: nameLength), as: UTF8.self)
      let value = String(
        decoding: UnsafeBufferPointer(start: value, count: valueLength), as: UTF8.self)
      StandInConnection.of(this)?.took(frame.pointee.hd.stream_id, name, value)
      return 0
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
      _, _, stream, bytes, count, this in
      StandInConnection.of(this)?.requests[stream]?.body
        .append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, this in
      guard let frame, let this = StandInConnection.of(this) else { return 0 }
      let isEnd = frame.pointee.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
      if isEnd, this.requests[frame.pointee.hd.stream_id] != nil {
        this.whole.append(frame.pointee.hd.stream_id)
      }
      return 0
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, _, this in
      guard let this = StandInConnection.of(this) else { return 0 }
      this.requests[stream] = nil
      this.bodies[stream] = nil
      this.due.removeAll { $0.stream == stream }
      return 0
    }
    let this = Unmanaged.passUnretained(self).toOpaque()
    guard nghttp2_session_server_new(&session, callbacks, this) == 0 else { return false }
    var setting = nghttp2_settings_entry(
      settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: streams)
    return nghttp2_submit_settings(session, 0, &setting, 1) == 0
  }

  private static func of(_ data: UnsafeMutableRawPointer?) -> StandInConnection? {
    data.map { Unmanaged<StandInConnection>.fromOpaque($0).takeUnretainedValue() }
  }

  private func took(_ stream: Int32, _ name: String, _ value: String) {
    requests[stream, default: StandInRequest(connection: number)].fields.append((name, value))
  }

  private func decide(_ stream: Int32) {
    guard let request = requests[stream] else { return }
    switch script(request) {
    case .respond(let status, let fields, let body, let delay, let among, let goesAway):
      if goesAway { leave(after: stream) }
      due.append((now + delay, among, stream, status, fields, body))
    case .refuse:
      requests[stream] = nil
      leave(after: stream - 2)
    case .reset:
      nghttp2_submit_rst_stream(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, NGHTTP2_INTERNAL_ERROR.rawValue)
    case .silence: break
    case .drop: isCut = true
    }
  }

  private func leave(after stream: Int32) {
    isLeaving = true
    nghttp2_submit_goaway(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), max(stream, 0), NGHTTP2_NO_ERROR.rawValue, nil, 0)
  }

  private func send(_ stream: Int32, _ status: Int, _ fields: [String: String], _ body: String) {
    bodies[stream] = Array(body.utf8)
    var provider = nghttp2_data_provider()
    provider.read_callback = { _, stream, output, limit, flags, _, this in
      guard let this = StandInConnection.of(this), let output, let flags else { return 0 }
      let piece = this.bodies[stream, default: []].prefix(limit)
      for (index, byte) in piece.enumerated() { output[index] = byte }
      this.bodies[stream]?.removeFirst(piece.count)
      if this.bodies[stream]?.isEmpty != false {
        flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue)
      }
      return piece.count
    }
    var all = [(name: ":status", value: String(status))]
    all += fields.map { (name: $0.key, value: $0.value) }
    // nghttp2 copies names and values while it takes them.
    let texts = all.map { (Array($0.name.utf8), Array($0.value.utf8)) }
    var storage: [UnsafeMutablePointer<UInt8>] = []
    defer { for pointer in storage { pointer.deallocate() } }
    func copy(_ bytes: [UInt8]) -> UnsafeMutablePointer<UInt8> {
      let pointer = UnsafeMutablePointer<UInt8>.allocate(capacity: max(bytes.count, 1))
      pointer.initialize(from: bytes, count: bytes.count)
      storage.append(pointer)
      return pointer
    }
    let values = texts.map { name, value in
      nghttp2_nv(
        name: copy(name), value: copy(value), namelen: name.count, valuelen: value.count, flags: 0)
    }
    if body.isEmpty {
      nghttp2_submit_response(session, stream, values, values.count, nil)
    } else {
      nghttp2_submit_response(session, stream, values, values.count, &provider)
    }
  }

  /// Writes what nghttp2 has to send.
  private func flush() -> Bool {
    while true {
      var start: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &start)
      guard count > 0 else { return count == 0 }
      var sent = 0
      while sent < count {
        let written = SSL_write(tls, start.map { $0 + sent }, Int32(count - sent))
        if written > 0 {
          sent += Int(written)
        } else {
          guard SSL_get_error(tls, written) == SSL_ERROR_WANT_WRITE else { return false }
          var event = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
          poll(&event, 1, 1000)
        }
      }
    }
  }
}
