public import Synchronization

internal import CUV
internal import Formats
internal import Glibc
package import Platform

/// A connected socket on its loop: reading, writing in order with back-pressure, and its end.
///
/// It is touched on its loop's thread only. It ends by `uv_close` only, whose callback comes in a later turn, so that
/// no callback ever finds it gone.
@safe
package final class Connection {
  /// The stages from open to gone.
  enum Life {
    case open
    /// The peer takes nothing more; its earlier input is still read.
    case unwritable
    /// Waiting bytes are written, then our side is shut; bytes that come are discarded.
    case finishing
    /// Our side is shut; the peer's last bytes are awaited, or they would turn our last ones into a reset.
    case lingering
    case closed
  }

  /// The connection's place in its loop's table.
  package let id: ConnectionID
  /// The loop that the connection lives on.
  package let loop: EventLoop
  /// The peer's address as text; empty for a Unix socket.
  package let peer: String
  /// This end of TLS, or nil where bytes are sent as they are.
  package let tls: TLSEndpoint?
  /// The protocol that is spoken, until the connection ends.
  package private(set) var protocolHandler: (any ConnectionProtocol)?
  /// True if bytes that the peer sent before a write failed are still read for a while, such as a server's close frame.
  package var readsAfterFailedWrite = false
  /// An object that lives as long as the connection has its descriptor, such as its place in a budget.
  package var owner: AnyObject?
  /// The owner of the connection's turns; nil if all its turns are its own, as those of a proxy.
  package var turnOwner: WorkOwner?

  let stream: UnsafeMutablePointer<uv_stream_t>
  let descriptor: Int32
  private let isLocal: Bool
  private(set) var life = Life.open
  /// True if the socket is read.
  package private(set) var isReading = false
  /// True if the loop lets the socket's input wait for the connection's turn.
  private var isInputDeferred = false
  /// True if the protocol has asked for a turn.
  private var wantsTurn = false
  /// True if the connection waits for its turn, for either reason.
  private var isAwaitingTurn = false

  /// Bytes of this turn, written together at its end, or with what else has come when the write before it is done.
  var staged: [UInt8] = []
  var isAwaitingFlush = false
  /// The bytes that the socket did not take: given to libuv when the write before it is done. Not sealed yet.
  var queue: [(bytes: Bytes, offset: Int)] = []
  var queuedBytes = 0
  /// The bytes that libuv writes.
  var inFlight: [(bytes: Bytes, offset: Int)] = []
  /// The number of bytes that the socket or libuv has been given.
  var given = 0
  private let minimumRate: MinimumRate
  /// Measures the reader, by what it has acknowledged: what the kernel buffers is no progress.
  private var readerWindow = RateWindow()
  private var lingerDeadline: Int64 = 0
  /// The number of bytes that came after the connection's end was decided.
  private var discarded = 0

  /// The number of bytes that a peer may still send before it takes notice of the end. This is more than a body may
  /// have anywhere: a client that sends one byte too many shall read the 413, not be reset.
  private static let discardLimit = 16 << 20
  /// The time in which a peer must read what is left after the end was decided, in milliseconds.
  private static let finishTime: Int64 = 5_000
  /// The time in which a peer must end its side, in milliseconds.
  private static let lingerTime: Int64 = 2_000

  init?(
    id: ConnectionID, loop: EventLoop, descriptor: Int32, isLocal: Bool, peer: String,
    tls: TLSEndpoint?, minimumRate: MinimumRate
  ) {
    self.id = id
    self.loop = loop
    self.peer = peer
    self.descriptor = descriptor
    self.isLocal = isLocal
    self.tls = tls
    self.minimumRate = minimumRate
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: uv_handle_size(isLocal ? UV_NAMED_PIPE : UV_TCP), alignment: 16)
    unsafe stream = memory.assumingMemoryBound(to: uv_stream_t.self)
    let opened: Int32
    if isLocal {
      let pipe = unsafe memory.assumingMemoryBound(to: uv_pipe_t.self)
      unsafe uv_pipe_init(loop.loop, pipe, 0)
      opened = unsafe uv_pipe_open(pipe, descriptor)
    } else {
      let tcp = unsafe memory.assumingMemoryBound(to: uv_tcp_t.self)
      unsafe uv_tcp_init(loop.loop, tcp)
      opened = unsafe uv_tcp_open(tcp, descriptor)
    }
    guard opened == 0 else {
      unsafe uv_close(stream.handle) { handle in
        unsafe UnsafeMutableRawPointer(handle)?.deallocate()
      }
      return nil
    }
    unsafe stream.pointee.data = Unmanaged.passUnretained(self).toOpaque()
  }

  /// The connection of a libuv handle or request. The loop owns it until libuv's close callback, which is the last.
  static func of(_ data: UnsafeMutableRawPointer?) -> Connection {
    unsafe Unmanaged.object(of: data)
  }

  /// Begins to read, and with TLS to shake hands.
  ///
  /// - Parameter handler: the protocol that is spoken.
  package func start(_ handler: any ConnectionProtocol) {
    protocolHandler = handler
    resumeReading()
    if let tls, tls.speaksFirst {
      shakeHands(tls)
      awaitFlush()
    }
  }

  /// Hands the connection over to another protocol.
  ///
  /// - Parameter handler: the protocol that is spoken from now on.
  package func become(_ handler: any ConnectionProtocol) { protocolHandler = handler }

  /// True if bytes can be sent.
  package var isOpen: Bool { life == .open }

  /// True if bytes that come are given to the protocol.
  package var isReceiving: Bool { life == .open || life == .unwritable }

  // MARK: - Reading

  /// Leaves what comes in the kernel.
  package func pauseReading() {
    guard isReading else { return }
    isReading = false
    if !isInputDeferred { unsafe uv_read_stop(stream) }
  }

  /// Reads again.
  package func resumeReading() {
    guard !isReading, life != .closed else { return }
    isReading = true
    if !isInputDeferred { startReading() }
  }

  private func startReading() {
    let started = unsafe uv_read_start(
      stream,
      // Without room libuv reads nothing, and calls back to say so.
      { _, _, _ in },
      { stream, _, _ in
        guard let stream = unsafe stream else { return }
        let connection = unsafe Connection.of(stream.pointee.data)
        if connection.loop.isInputTimeOver {
          connection.deferInput()
        } else {
          connection.read()
        }
        connection.loop.endTurn()
      })
    if started != 0 { close() }
  }

  /// Reads once. libuv polls by level, and so comes back in the next turn if something is left; meanwhile others have theirs.
  ///
  /// `recv` does without the file system's layer that libuv's `read` goes through, which costs 3 % of a small request.
  private func read() {
    let room = unsafe loop.readBuffer
    let count = unsafe recv(descriptor, room.baseAddress, room.count, 0)
    if count > 0 {
      unsafe didRead(UnsafeRawBufferPointer(rebasing: room[..<count]))
    } else if count == 0 {
      didReadEnd()
    } else if errno != EAGAIN, errno != EINTR {
      close()
    }
  }

  private func didRead(_ bytes: UnsafeRawBufferPointer) {
    loop.statistics.bytesReceived.bump(bytes.count)
    guard isReceiving else {
      discarded += bytes.count
      if discarded > Connection.discardLimit { abort() }
      return
    }
    // Its output is flushed right here, without a turn through the loop's list.
    isAwaitingFlush = true
    if let tls {
      unsafe receive(bytes, through: tls)
    } else {
      unsafe protocolHandler?.received(RawSpan(_unsafeBytes: bytes))
    }
    flush()
  }

  private func didReadEnd() {
    pauseReading()
    switch life {
    case .open: protocolHandler?.peerEnded()
    case .finishing: break
    case .unwritable, .lingering, .closed: close()
    }
  }

  /// Leaves what has come in the kernel until it is the connection's turn.
  private func deferInput() {
    isInputDeferred = true
    unsafe uv_read_stop(stream)
    queueForTurn()
  }

  /// Asks for ``ConnectionProtocol/turnCame()`` in the next turn, when it is the owner's turn among the connections that wait.
  package func awaitTurn() {
    wantsTurn = true
    queueForTurn()
  }

  private func queueForTurn() {
    guard !isAwaitingTurn else { return }
    isAwaitingTurn = true
    loop.awaitTurn(id, of: turnOwner)
  }

  /// Gives the protocol its turn, and takes what has come meanwhile.
  func runTurn() {
    isAwaitingTurn = false
    if wantsTurn {
      wantsTurn = false
      runProtocolsTurn()
    }
    guard isInputDeferred else { return }
    isInputDeferred = false
    guard isReading else { return }
    startReading()
    if isReading { read() }
  }

  private func runProtocolsTurn() {
    guard isReceiving else { return }
    isAwaitingFlush = true
    protocolHandler?.turnCame()
    flush()
  }

  // MARK: - Ending

  /// Ends the connection in order: writes what waits, shuts our side, reads the peer's rest, closes.
  package func finish() {
    guard life != .unwritable else { return close() }
    guard life == .open else { return }
    life = .finishing
    lingerDeadline = loop.now + Connection.finishTime
    endProtocol()
    resumeReading()
    awaitFlush()
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
    lingerDeadline = loop.now + Connection.lingerTime
    // The queue is empty, so uv_shutdown would only defer the same call by a turn.
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Called when the socket takes nothing more.
  func writingFailed() {
    guard readsAfterFailedWrite, isReading, isReceiving else { return close() }
    if life == .open { lingerDeadline = loop.now + Connection.lingerTime }
    life = .unwritable
    discardOutput()
  }

  /// Ends the connection at once, with a reset if the peer has not read all: nothing is kept for it.
  package func abort() {
    guard life != .closed else { return }
    close(resetting: backlog > 0 || unacknowledged > 0)
  }

  /// Ends the connection at once because its peer is too slow or takes too much, with a reset, and counts it.
  package func cut() {
    guard life != .closed else { return }
    loop.statistics.cut.bump()
    close(resetting: true)
  }

  /// Closes the socket.
  ///
  /// - Parameter isReset: whether unsent bytes are thrown away, rather than kept by the kernel for a reader that may be stuck.
  func close(resetting isReset: Bool = false) {
    guard life != .closed else { return }
    life = .closed
    isReading = false
    endProtocol()
    discardOutput()
    if isReset, !isLocal {
      let tcp = unsafe UnsafeMutableRawPointer(stream).assumingMemoryBound(to: uv_tcp_t.self)
      if unsafe uv_tcp_close_reset(tcp, Connection.didClose) == 0 { return }
    }
    unsafe uv_close(stream.handle, Connection.didClose)
  }

  private func endProtocol() {
    protocolHandler?.ended()
    protocolHandler = nil
  }

  private func discardOutput() {
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

  /// Looks at the clock: ends what lingers too long, and passes on.
  func tick() {
    switch life {
    case .open: protocolHandler?.tick()
    case .unwritable: if loop.now > lingerDeadline { close() }
    case .finishing:
      if isStalled { cut() } else if loop.now > lingerDeadline, inFlight.isEmpty { abort() }
    case .lingering:
      // The kernel would hold the rest without us too, and without a limit.
      guard loop.now > lingerDeadline else { return }
      if unacknowledged == 0 { close() } else if isStalled { cut() }
    case .closed: break
    }
  }

  /// Begins to measure how fast the peer reads.
  func beginWindow() { readerWindow = RateWindow(now: loop.now, count: taken) }

  /// True if the peer takes what waits for it more slowly than the minimum rate; to be asked at every tick.
  package var isStalled: Bool {
    guard !inFlight.isEmpty || life == .lingering else { return false }
    return readerWindow.isTooSlow(for: minimumRate, count: taken, now: loop.now)
  }

  /// The number of bytes that the peer has acknowledged.
  private var taken: Int { given - unsent - unacknowledged }

  /// The number of bytes that the kernel holds for the peer.
  private var unacknowledged: Int { Int(cuv_unacknowledged(descriptor)) }
}

/// The place of a connection in its loop's table, with a generation, so that a late reference finds nothing.
package struct ConnectionID: Hashable, Sendable {
  let slot: UInt32
  let generation: UInt32
}

/// The protocol that is spoken on a connection; all calls come on the connection's loop.
package protocol ConnectionProtocol: AnyObject {
  /// Takes bytes of the peer.
  ///
  /// - Parameter input: the bytes, valid during the call.
  func received(_ input: RawSpan)
  /// Called when the peer sends nothing more.
  func peerEnded()
  /// Called when all that waited to be sent is sent.
  func drained()
  /// Called when the socket did not take all. It may be called many times until ``drained()``.
  func outputWaits()
  /// Called when the turn has come which ``Connection/awaitTurn()`` asked for.
  func turnCame()
  /// Looks at the clock, several times a second.
  func tick()
  /// Called when the connection is over; nothing is called after this.
  func ended()
  /// Called when the TLS handshake is complete.
  func secured()
  /// Called when TLS has failed; the connection is finished afterwards.
  func tlsFailed(_ failure: TLSFailure)
}

extension ConnectionProtocol {
  package func outputWaits() {}
  package func turnCame() {}
  package func secured() {}
  package func tlsFailed(_ failure: TLSFailure) {}
}

/// The counters of one loop's connections, written by its thread and read by any.
package final class ConnectionStatistics: Sendable {
  /// Connections that are open now.
  package let open = Atomic<Int>(0)
  /// Connections cut because the peer read or wrote too slowly.
  package let cut = Atomic<Int>(0)
  /// TLS handshakes completed.
  package let tlsHandshakes = Atomic<Int>(0)
  /// TLS handshakes that failed, and connections that broke TLS later.
  package let tlsFailures = Atomic<Int>(0)
  /// The longest turn of the loop in the last minute or two, in milliseconds: so long every other connection waited.
  package let longestTurn = Atomic<Int>(0)
  /// Bytes taken from sockets.
  package let bytesReceived = Atomic<Int>(0)
  /// Bytes given to sockets.
  package let bytesSent = Atomic<Int>(0)
}

extension Atomic where Value == Int {
  /// Adds on the one thread that writes this counter.
  @inlinable
  package borrowing func bump(_ amount: Int = 1) {
    // One writer: a plain load and store cost a fraction of a locked addition.
    store(load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }

  /// The value, as another thread may see it a little later.
  @inlinable package var value: Int { load(ordering: .relaxed) }
}

/// The connections of one loop, by their identifiers.
struct ConnectionTable {
  private var slots: [Connection?] = []
  private var freeSlots: [UInt32] = []
  private var generation: UInt32 = 0
  /// The number of connections.
  private(set) var count = 0

  /// Gives a connection a place.
  ///
  /// - Parameter make: makes the connection, or returns nil if it can't be made.
  mutating func insert(_ make: (ConnectionID) -> Connection?) -> Connection? {
    generation &+= 1
    let slot = freeSlots.popLast() ?? UInt32(slots.count)
    if slot == slots.count { slots.append(nil) }
    guard let connection = make(ConnectionID(slot: slot, generation: generation)) else {
      freeSlots.append(slot)
      return nil
    }
    slots[Int(slot)] = connection
    count += 1
    return connection
  }

  subscript(id: ConnectionID) -> Connection? {
    guard Int(id.slot) < slots.count, let connection = slots[Int(id.slot)], connection.id == id
    else { return nil }
    return connection
  }

  mutating func remove(_ id: ConnectionID) {
    guard self[id] != nil else { return }
    slots[Int(id.slot)] = nil
    freeSlots.append(id.slot)
    count -= 1
  }

  /// All connections, in no particular order.
  var all: some Sequence<Connection> { slots.lazy.compactMap { $0 } }
}

/// The rate that a transfer must keep.
package struct MinimumRate: Sendable {
  let bytesPerSecond: Int64
  /// The time that a transfer may stall before the rate is held against it, in milliseconds.
  let grace: Int64

  /// A rate.
  ///
  /// - Parameters:
  ///   - bytesPerSecond: the bytes a second that must move on average.
  ///   - grace: the time that a transfer may stall before the rate is held against it.
  package init(bytesPerSecond: Int = 512, grace: Duration = .seconds(15)) {
    self.bytesPerSecond = Int64(bytesPerSecond)
    self.grace = grace.milliseconds
  }
}

/// Measures in windows whether a transfer keeps a rate: a good beginning earns no credit.
package struct RateWindow: Sendable {
  private var start: Int64
  private var count: Int

  /// A window that begins now.
  ///
  /// - Parameters:
  ///   - now: the moment, in milliseconds.
  ///   - count: the number of bytes that have moved before.
  package init(now: Int64 = 0, count: Int = 0) {
    start = now
    self.count = count
  }

  /// Evaluates the window if it is long enough, and begins the next one.
  ///
  /// - Parameters:
  ///   - count: the number of bytes that have moved by now, since the same beginning as before.
  ///   - now: the moment, in milliseconds.
  /// - Returns: whether fewer bytes moved than the rate asks for.
  package mutating func isTooSlow(
    for rate: MinimumRate, count: @autoclosure () -> Int, now: Int64
  ) -> Bool {
    let elapsed = now - start
    guard elapsed > rate.grace else { return false }
    let next = RateWindow(now: now, count: count())
    let moved = Int64(max(0, next.count - self.count))
    self = next
    return moved < elapsed * rate.bytesPerSecond / 1000
  }
}
