internal import CUV
internal import Glibc
internal import HTTPProtocol
internal import Synchronization

/// A connected socket on its loop: reading, writing in order with back-pressure, and its end.
///
/// It touches nothing but its loop's thread. It ends by `uv_close` only, whose callback comes in a later turn, so that
/// no callback ever finds it gone.
@safe
final class Connection {
  /// How a connection goes from open to gone.
  enum Life {
    case open
    /// Nothing more is written once the queue is empty; what comes is discarded.
    case finishing
    /// Our side is shut; the peer's last bytes are awaited, or they would turn our last answer into a reset.
    case lingering
    case closed
  }

  let id: ConnectionID
  let loop: EventLoop
  let peer: String
  /// What seals and opens the bytes; nil: they are sent as they are.
  let tls: TLSSession?
  let stream: UnsafeMutablePointer<uv_stream_t>
  private let isLocal: Bool
  private(set) var life = Life.open
  private var isReading = false
  private(set) var protocolHandler: (any ConnectionProtocol)?

  /// Bytes of this turn, written together at its end, or with what else has come when the write before it is done.
  var staged: [UInt8] = []
  var isAwaitingFlush = false
  /// What the socket did not take: given to libuv when the write before it is done. Not sealed yet.
  var queue: [(bytes: Bytes, offset: Int)] = []
  var queuedBytes = 0
  /// What libuv writes.
  var inFlight: [(bytes: Bytes, offset: Int)] = []
  /// Bytes that the socket or libuv has been given.
  var given = 0
  /// When the present window of the reader's rate began, and how much the reader had taken by then.
  private var windowStart: UInt64 = 0
  private var windowTaken = 0
  private var lingerDeadline: UInt64 = 0
  /// Bytes that came after the connection's end was decided.
  private var discarded = 0

  /// How much a peer may still send while it has not taken notice of the end, in bytes. More than a
  /// body may have anywhere: who sends one byte too many shall read the 413, not be reset.
  private static let discardLimit = 16 << 20

  init?(
    id: ConnectionID, loop: EventLoop, on uvLoop: UnsafeMutablePointer<uv_loop_t>,
    descriptor: Int32, isLocal: Bool, peer: String, tls: TLSSession?
  ) {
    self.id = id
    self.loop = loop
    self.peer = peer
    self.isLocal = isLocal
    self.tls = tls
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: uv_handle_size(isLocal ? UV_NAMED_PIPE : UV_TCP), alignment: 16)
    unsafe stream = memory.assumingMemoryBound(to: uv_stream_t.self)
    let opened: Int32
    if isLocal {
      let pipe = unsafe memory.assumingMemoryBound(to: uv_pipe_t.self)
      unsafe uv_pipe_init(uvLoop, pipe, 0)
      opened = unsafe uv_pipe_open(pipe, descriptor)
    } else {
      let tcp = unsafe memory.assumingMemoryBound(to: uv_tcp_t.self)
      unsafe uv_tcp_init(uvLoop, tcp)
      opened = unsafe uv_tcp_open(tcp, descriptor)
    }
    guard opened == 0 else {
      unsafe uv_close(handle) { handle in unsafe UnsafeMutableRawPointer(handle)?.deallocate() }
      return nil
    }
    unsafe stream.pointee.data = Unmanaged.passUnretained(self).toOpaque()
  }

  private var handle: UnsafeMutablePointer<uv_handle_t> {
    unsafe UnsafeMutableRawPointer(stream).assumingMemoryBound(to: uv_handle_t.self)
  }

  static func of(_ data: UnsafeMutableRawPointer?) -> Connection {
    // The loop owns the connection until libuv's close callback, which is the handle's last.
    guard let data = unsafe data else {
      preconditionFailure("a libuv handle without its connection")
    }
    return unsafe Unmanaged<Connection>.fromOpaque(data).takeUnretainedValue()
  }

  func start() {
    protocolHandler = tls == nil ? HTTP1Connection(self) : TLSHandshake(self)
    resumeReading()
  }

  /// Hands the connection over to another protocol.
  func become(_ handler: any ConnectionProtocol) {
    protocolHandler = handler
  }

  var isOpen: Bool { life == .open }

  // MARK: - Reading

  func pauseReading() {
    guard isReading else { return }
    isReading = false
    unsafe uv_read_stop(stream)
  }

  func resumeReading() {
    guard !isReading, life != .closed else { return }
    isReading = true
    let started = unsafe uv_read_start(
      stream,
      { handle, _, buffer in
        guard let handle = unsafe handle, let buffer = unsafe buffer else { return }
        unsafe Connection.of(handle.pointee.data).loop.withReadBuffer { room in
          unsafe buffer.pointee.base = room.baseAddress?.assumingMemoryBound(to: CChar.self)
          unsafe buffer.pointee.len = room.count
        }
      },
      { stream, count, buffer in
        guard let stream = unsafe stream, let buffer = unsafe buffer else { return }
        let connection = unsafe Connection.of(stream.pointee.data)
        unsafe connection.didRead(
          UnsafeRawBufferPointer(start: buffer.pointee.base, count: max(0, count)), result: count)
        connection.loop.settle()
      })
    if started != 0 { close() }
  }

  private func didRead(_ bytes: UnsafeRawBufferPointer, result: Int) {
    if result > 0 {
      loop.statistics.bytesReceived.bump(result)
      if life == .open {
        // What it asks to be written is flushed right here, without a turn through the loop's list.
        isAwaitingFlush = true
        if let tls {
          unsafe receive(bytes, through: tls)
        } else {
          unsafe protocolHandler?.received(RawSpan(_unsafeBytes: bytes))
        }
        flush()
      } else {
        discarded += result
        if discarded > Connection.discardLimit { reset() }
      }
    } else if result == Int(UV_EOF.rawValue) {
      isReading = false
      switch life {
      // libuv tells a reset as an end too, when it comes together with the last bytes.
      case .open where isBroken: close()
      case .open: protocolHandler?.peerEnded()
      case .finishing: break
      case .lingering, .closed: close()
      }
    } else if result < 0 {
      close()
    }
  }

  /// Whether the socket has an error that nobody has been told yet, such as a reset.
  private var isBroken: Bool {
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
    return code != 0
  }

  private var descriptor: Int32 {
    var descriptor: Int32 = -1
    unsafe uv_fileno(handle, &descriptor)
    return descriptor
  }

  // MARK: - Ending

  /// Ends the connection in order: writes what waits, shuts our side, reads the peer's rest, closes.
  func finish() {
    guard life == .open else { return }
    life = .finishing
    lingerDeadline = loop.now + 5_000
    protocolHandler?.ended()
    protocolHandler = nil
    resumeReading()
    if !isAwaitingFlush {
      isAwaitingFlush = true
      loop.needsFlush(self)
    }
  }

  func finishIfWritten() {
    guard life == .finishing, queue.isEmpty, inFlight.isEmpty, staged.isEmpty else { return }
    if let tls, !tls.isShut {
      tls.shutDown()
      sendSealed(tls)
      guard life == .finishing, inFlight.isEmpty else { return }
    }
    guard isReading else { return close() }
    life = .lingering
    lingerDeadline = loop.now + 2_000
    // The queue is empty, so uv_shutdown would only defer the same call by a turn.
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Closes without waiting for anything.
  func close() {
    guard life != .closed else { return }
    endProtocol()
    unsafe uv_close(handle, Connection.didClose)
  }

  /// Closes with a reset: unsent bytes are thrown away at once, instead of being kept for a reader that is stuck.
  func reset() {
    guard life != .closed else { return }
    endProtocol()
    if !isLocal {
      let tcp = unsafe UnsafeMutableRawPointer(stream).assumingMemoryBound(to: uv_tcp_t.self)
      if unsafe uv_tcp_close_reset(tcp, Connection.didClose) == 0 { return }
    }
    unsafe uv_close(handle, Connection.didClose)
  }

  private func endProtocol() {
    life = .closed
    isReading = false
    protocolHandler?.ended()
    protocolHandler = nil
    queue = []
    queuedBytes = 0
    staged = []
    tls?.output = []
  }

  private static let didClose: uv_close_cb = { handle in
    guard let handle = unsafe handle else { return }
    let connection = unsafe Connection.of(handle.pointee.data)
    let loop = connection.loop
    unsafe UnsafeMutableRawPointer(handle).deallocate()
    loop.remove(connection.id)
  }

  /// Ends a connection whose peer is too slow, and counts it.
  func cut() {
    loop.statistics.cutConnections.bump()
    reset()
  }

  /// A tick of the loop's clock: ends what lingers too long, and passes on.
  func tick() {
    switch life {
    case .open: protocolHandler?.tick()
    case .finishing:
      if isStalled { cut() } else if loop.now > lingerDeadline, inFlight.isEmpty { reset() }
    case .lingering:
      // What the kernel still holds it would hold without us too, and without a limit.
      guard loop.now > lingerDeadline else { return }
      if unacknowledged == 0 { close() } else if isStalled { cut() }
    case .closed: break
    }
  }

  /// Begins to measure how fast the peer reads.
  func beginWindow() {
    windowStart = loop.now
    windowTaken = taken
  }

  /// Whether the peer takes what waits for it more slowly than the minimum rate; to be asked at every tick.
  ///
  /// Measured in windows, by what the peer has acknowledged: what the kernel buffers is no progress, and a good
  /// beginning earns no credit.
  var isStalled: Bool {
    guard !inFlight.isEmpty || life == .lingering else { return false }
    let options = loop.server.options
    let elapsed = loop.now - windowStart
    guard elapsed > options.rateGrace.milliseconds else { return false }
    let before = windowTaken
    windowStart = loop.now
    windowTaken = taken
    return UInt64(max(0, windowTaken - before)) < elapsed * UInt64(options.minimumRate) / 1000
  }

  /// Bytes that the peer has acknowledged.
  private var taken: Int { given - unsent - unacknowledged }

  /// Bytes that the kernel holds for the peer.
  private var unacknowledged: Int { Int(cuv_unacknowledged(descriptor)) }

  func drain() { protocolHandler?.drain() }
}

extension Duration {
  /// Whole milliseconds; negative durations count as none.
  var milliseconds: UInt64 {
    let (seconds, attoseconds) = components
    return UInt64(max(0, seconds)) * 1000 + UInt64(max(0, attoseconds)) / 1_000_000_000_000_000
  }
}
