internal import CUV
internal import Glibc
internal import HTTPProtocol

/// One WebSocket's connection, on the loop's thread: name, socket, reading and writing, and its end.
///
/// The loop holds it until libuv has let go of all that points to it.
@safe
final class WebSocketLink {
  private enum Life {
    case connecting
    /// Bytes go both ways.
    case connected
    /// All that waits is written, then the server's end is awaited; what comes is discarded.
    case finishing
    /// Only libuv's last callback is awaited.
    case over
  }

  private let id: UInt64
  private let url: WebSocketURL
  private let options: WebSocketOptions
  private let state: WebSocketState
  private unowned let loop: WebSocketLoop
  private var machine: WebSocketMachine
  private var life = Life.connecting
  /// When connecting, or finishing, has lasted too long, in milliseconds of the loop's clock.
  private var deadline: UInt64
  /// When the address that is being tried has had its time.
  private var attemptDeadline = UInt64.max
  private var addresses: ArraySlice<sockaddr_storage> = []
  private var resolution: UnsafeMutablePointer<uv_getaddrinfo_t>?
  private var socket: UnsafeMutablePointer<uv_tcp_t>?
  private var isReading = false
  /// What lies between the socket and the WebSocket; nil without TLS.
  private var tls: TLSClient?
  /// What the socket did not take at once.
  private var inFlight: Bytes?

  /// How long the server may take to end the connection once the WebSocket is over, in milliseconds.
  private static let lingerTime: UInt64 = 2_000

  init(
    _ id: UInt64, _ url: WebSocketURL, _ fields: HeaderFields, _ options: WebSocketOptions,
    _ state: WebSocketState, loop: WebSocketLoop
  ) {
    self.id = id
    self.url = url
    self.options = options
    self.state = state
    self.loop = loop
    machine = WebSocketMachine(url, fields: fields, options, now: loop.now)
    deadline = loop.now + options.connectTimeout.inMilliseconds
  }

  private static func of(_ data: UnsafeMutableRawPointer?) -> WebSocketLink {
    // The loop holds the link until the last callback of what carries it.
    guard let data = unsafe data else { preconditionFailure("a libuv handle without its link") }
    return unsafe Unmanaged<WebSocketLink>.fromOpaque(data).takeUnretainedValue()
  }

  private var this: UnsafeMutableRawPointer {
    unsafe Unmanaged.passUnretained(self).toOpaque()
  }

  // MARK: - Connecting

  /// Looks the host's addresses up, on a thread of libuv's pool.
  func resolve(on uvLoop: UnsafeMutablePointer<uv_loop_t>) {
    let request = UnsafeMutablePointer<uv_getaddrinfo_t>.allocate(capacity: 1)
    unsafe request.pointee.data = this
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    let failed = unsafe uv_getaddrinfo(
      uvLoop, request,
      { request, status, list in
        guard let request = unsafe request else { return }
        let link = unsafe WebSocketLink.of(request.pointee.data)
        let addresses = status == 0 ? unsafe WebSocketLink.addresses(in: list) : []
        unsafe uv_freeaddrinfo(list)
        unsafe link.resolved(addresses, on: request.pointee.loop)
      }, url.host, String(url.port), &hints)
    guard failed == 0 else {
      unsafe request.deallocate()
      return abort(WebSocketError(.outOfResources, "the system can't look a name up"))
    }
    unsafe resolution = request
  }

  private static func addresses(in list: UnsafeMutablePointer<addrinfo>?) -> [sockaddr_storage] {
    var addresses: [sockaddr_storage] = []
    var next = unsafe list
    while let entry = unsafe next {
      unsafe next = entry.pointee.ai_next
      let length = unsafe Int(entry.pointee.ai_addrlen)
      guard let address = unsafe entry.pointee.ai_addr,
        length <= MemoryLayout<sockaddr_storage>.size
      else { continue }
      var storage = sockaddr_storage()
      unsafe withUnsafeMutableBytes(of: &storage) {
        unsafe $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: length))
      }
      addresses.append(storage)
    }
    return addresses
  }

  private func resolved(
    _ addresses: [sockaddr_storage], on uvLoop: UnsafeMutablePointer<uv_loop_t>
  ) {
    unsafe resolution?.deallocate()
    unsafe resolution = nil
    guard life == .connecting else { return removeIfDone() }
    guard !addresses.isEmpty else {
      return abort(WebSocketError(.unknownHost, "\(url.host) has no address"))
    }
    self.addresses = addresses[...]
    unsafe connect(on: uvLoop)
  }

  /// Tries the next address; each has its share of the time that is left.
  private func connect(on uvLoop: UnsafeMutablePointer<uv_loop_t>) {
    guard var address = addresses.popFirst() else {
      return abort(
        WebSocketError(.notConnected, "nobody listens on \(url.host) port \(url.port)"))
    }
    let left = deadline > loop.now ? deadline - loop.now : 0
    attemptDeadline = loop.now + left / UInt64(addresses.count + 1)
    let socket = UnsafeMutablePointer<uv_tcp_t>.allocate(capacity: 1)
    unsafe uv_tcp_init(uvLoop, socket)
    unsafe socket.pointee.data = this
    unsafe self.socket = socket
    let request = UnsafeMutablePointer<uv_connect_t>.allocate(capacity: 1)
    let failed = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe uv_tcp_connect(request, socket, $0) { request, status in
          guard let request = unsafe request, let socket = unsafe request.pointee.handle else {
            return
          }
          unsafe request.deallocate()
          // A socket that was closed meanwhile has its own callback.
          guard status != UV_ECANCELED.rawValue else { return }
          unsafe WebSocketLink.of(socket.pointee.data).didConnect(status, on: socket.pointee.loop)
        }
      }
    }
    guard failed != 0 else { return }
    unsafe request.deallocate()
    tryNext()
  }

  private func didConnect(_ status: Int32, on uvLoop: UnsafeMutablePointer<uv_loop_t>) {
    guard life == .connecting else { return }
    guard status == 0 else { return tryNext() }
    attemptDeadline = .max
    if url.isSecure {
      do throws(WebSocketError) {
        tls = try TLSClient(host: url.host, authorities: options.certificateAuthorities)
      } catch { return abort(error) }
    }
    life = .connected
    unsafe uv_tcp_nodelay(socket, 1)
    resume()
    flush()
  }

  /// Closes the socket of the address that failed; the next one is tried when that is done.
  private func tryNext() {
    attemptDeadline = .max
    closeSocket()
  }

  // MARK: - Reading

  /// Reads on.
  func resume() {
    guard let stream = unsafe stream, !isReading, life != .over else { return }
    isReading = true
    let failed = unsafe uv_read_start(
      stream,
      { handle, _, room in
        guard let handle = unsafe handle, let room = unsafe room else { return }
        let buffer = unsafe WebSocketLink.of(handle.pointee.data).loop.readBuffer
        unsafe room.pointee.base = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
        unsafe room.pointee.len = buffer.count
      },
      { stream, count, buffer in
        guard let stream = unsafe stream, let buffer = unsafe buffer else { return }
        let link = unsafe WebSocketLink.of(stream.pointee.data)
        unsafe link.didRead(
          Array(UnsafeRawBufferPointer(start: buffer.pointee.base, count: max(0, count))), count)
      })
    if failed != 0 { abort(.disconnected) }
  }

  private func pause() {
    guard let stream = unsafe stream, isReading else { return }
    isReading = false
    unsafe uv_read_stop(stream)
  }

  private func didRead(_ bytes: [UInt8], _ result: Int) {
    guard result >= 0 else {
      isReading = false
      guard life == .connected, case .ended(let end) = machine.disconnected() else {
        return closeSocket()
      }
      state.end(end)
      return closeSocket()
    }
    guard life == .connected, !bytes.isEmpty else { return }
    do throws(WebSocketError) {
      let clear = try tls?.received(bytes) ?? bytes
      if !clear.isEmpty { take(machine.received(clear, now: loop.now)) }
      flush()
    } catch {
      finish(.failed(error))
    }
  }

  private func take(_ events: [WebSocketMachine.Event]) {
    var messages: [WebSocketMessage] = []
    for event in events {
      switch event {
      case .opened:
        deadline = .max
        state.open()
      case .message(let message): messages.append(message)
      case .ended(let end):
        if !messages.isEmpty { _ = state.deliver(messages) }
        return finish(end)
      }
    }
    if !messages.isEmpty, !state.deliver(messages) { pause() }
  }

  // MARK: - Writing

  func send(_ message: WebSocketMessage) {
    state.taken(message.count)
    machine.send(message)
  }

  private var stream: UnsafeMutablePointer<uv_stream_t>? {
    unsafe socket.map {
      unsafe UnsafeMutableRawPointer($0).assumingMemoryBound(to: uv_stream_t.self)
    }
  }

  /// Writes what the machine has put out; while a write is under way more gathers there.
  func flush() {
    guard let stream = unsafe stream, life == .connected || life == .finishing else { return }
    defer { state.wrote(unsent: machine.output.count + (inFlight?.count ?? 0)) }
    guard inFlight == nil else { return }
    var output = takeOutput()
    guard !output.isEmpty else { return shutDownIfWritten() }
    let taken = unsafe output.withUnsafeMutableBytes { bytes in
      var buffer = unsafe uv_buf_t(
        base: bytes.baseAddress?.assumingMemoryBound(to: CChar.self), len: bytes.count)
      return unsafe uv_try_write(stream, &buffer, 1)
    }
    guard taken >= 0 || taken == UV_EAGAIN.rawValue else { return writingFailed() }
    guard taken < output.count else { return shutDownIfWritten() }
    unsafe write(Bytes(output[max(0, Int(taken))...]), to: unsafe stream)
  }

  /// What the machine has put out, as the socket gets it.
  private func takeOutput() -> [UInt8] {
    var output: [UInt8] = []
    swap(&output, &machine.output)
    guard let tls else { return output }
    // Bytes that TLS refuses are those of a session that has failed before.
    try? tls.send(output)
    if life == .finishing { tls.close() }
    return tls.takeOutput()
  }

  private func write(_ bytes: Bytes, to stream: UnsafeMutablePointer<uv_stream_t>) {
    inFlight = bytes
    let request = UnsafeMutablePointer<uv_write_t>.allocate(capacity: 1)
    let base = unsafe UnsafeMutableRawPointer(mutating: bytes.buffer.baseAddress)
    var buffer = unsafe uv_buf_t(
      base: base?.assumingMemoryBound(to: CChar.self), len: bytes.count)
    let failed = unsafe uv_write(request, stream, &buffer, 1) { request, status in
      guard let request = unsafe request, let stream = unsafe request.pointee.handle else { return }
      unsafe request.deallocate()
      let link = unsafe WebSocketLink.of(stream.pointee.data)
      link.inFlight = nil
      if status == 0 { link.flush() } else { link.writingFailed() }
    }
    guard failed != 0 else { return }
    unsafe request.deallocate()
    inFlight = nil
    writingFailed()
  }

  /// The server takes nothing more; what it sent before, such as a close frame, is still read.
  private func writingFailed() {
    guard life == .connected || life == .finishing else { return }
    machine.output = []
    guard isReading else { return abort(.disconnected) }
    deadline = min(deadline, loop.now + Self.lingerTime)
  }

  // MARK: - Ending

  /// Begins the close handshake; a WebSocket that isn't open yet is dropped.
  func close(_ code: UInt16, reason: String) {
    guard life == .connected, deadline == .max else { return abort(.closed) }
    machine.close(code, reason: reason, now: loop.now)
    // What has not been taken will not be.
    resume()
    flush()
  }

  /// The WebSocket is over: the rest is written, and the server's end of the connection awaited.
  private func finish(_ end: WebSocketEnd) {
    guard life == .connected else { return }
    life = .finishing
    deadline = loop.now + Self.lingerTime
    state.end(end)
    resume()
    flush()
  }

  private func shutDownIfWritten() {
    guard life == .finishing, let stream = unsafe stream else { return }
    var descriptor: Int32 = -1
    let handle = unsafe UnsafeMutableRawPointer(stream).assumingMemoryBound(to: uv_handle_t.self)
    unsafe uv_fileno(handle, &descriptor)
    // Nothing waits to be written, so uv_shutdown would only defer the same call by a turn.
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Drops the connection, or the attempt to make one.
  func abort(_ error: WebSocketError) {
    state.end(.failed(error))
    life = .over
    addresses = []
    closeSocket()
    removeIfDone()
  }

  private func closeSocket() {
    guard let socket = unsafe socket else { return }
    if life != .connecting { life = .over }
    isReading = false
    let handle = unsafe UnsafeMutableRawPointer(socket).assumingMemoryBound(to: uv_handle_t.self)
    guard unsafe uv_is_closing(handle) == 0 else { return }
    unsafe uv_close(handle) { handle in
      guard let handle = unsafe handle else { return }
      unsafe WebSocketLink.of(handle.pointee.data).didClose(on: handle.pointee.loop)
    }
  }

  private func didClose(on uvLoop: UnsafeMutablePointer<uv_loop_t>) {
    unsafe socket?.deallocate()
    unsafe socket = nil
    if life == .connecting { unsafe connect(on: uvLoop) }
    removeIfDone()
  }

  private func removeIfDone() {
    guard life == .over, unsafe socket == nil, unsafe resolution == nil else { return }
    loop.remove(id)
  }

  // MARK: - Time

  func tick() {
    switch life {
    case .connecting:
      if loop.now > deadline {
        abort(timedOut)
      } else if loop.now > attemptDeadline {
        tryNext()
      }
    case .connected:
      guard loop.now <= deadline else { return abort(timedOut) }
      guard case .ended(.failed(let error)) = machine.tick(now: loop.now, isReading: isReading)
      else { return flush() }
      abort(error)
    case .finishing: if loop.now > deadline { closeSocket() }
    case .over: break
    }
  }

  private var timedOut: WebSocketError {
    WebSocketError(.timedOut, "\(url.host) port \(url.port) takes too long")
  }
}
