internal import CUV
internal import Glibc
internal import HTTPProtocol
internal import Synchronization
internal import SystemCalls
internal import Threading

/// One libuv loop on a thread of its own: the connections that were accepted there live and die on it.
///
/// It is the executor of the tasks that answer their requests, so that a handler's state needs no lock.
@safe
public final class EventLoop: TaskExecutor, @unchecked Sendable {
  // Safe to share: other threads only touch `mailbox`, `threadID`, `statistics` and constants; all else belongs to
  // the loop's own thread.

  /// What other threads ask of the loop.
  private enum Work {
    case job(UnownedJob)
    case call(@Sendable () -> Void)
  }

  private struct Mailbox {
    var work: [Work] = []
    /// Whether the loop has ended.
    var isClosed = false
  }

  let server: ServerCore
  let statistics = LoopStatistics()
  private let mailbox = Lock(Mailbox())
  private let threadID = Atomic<UInt>(0)

  private let loop = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
  private let wakeUp = UnsafeMutablePointer<uv_async_t>.allocate(capacity: 1)
  private let clock = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
  private var listeners: [Listener] = []
  private var onEnd: (@Sendable () -> Void)?

  private var connections: [Connection?] = []
  private var freeSlots: [UInt32] = []
  private var generation: UInt32 = 0
  private var openConnections = 0

  // Each pair changes places, so that what a piece of work asks for goes into the next round.
  private var localWork: [Work] = []
  private var performing: [Work] = []
  private var unflushed: [Connection] = []
  private var flushing: [Connection] = []
  private var spareBuffers: [[UInt8]] = []
  private var requestCount: UInt64 = 0
  private let index: Int
  private let requestBase: UInt64

  /// What sockets are read into; shared by all connections of the loop, valid for one callback.
  private let readBuffer = UnsafeMutableRawBufferPointer.allocate(
    byteCount: 64 << 10, alignment: 64)

  /// What TLS opens is put here; shared by all connections of the loop, valid for one callback.
  let openedBuffer = UnsafeMutableRawBufferPointer.allocate(
    byteCount: 64 << 10, alignment: 64)

  private(set) var isDraining = false
  private var drainDeadline: UInt64 = .max
  private var date = HTTPDate(0)
  private var datePrepared: [UInt8] = []

  init(server: ServerCore, index: Int) throws(ServerError) {
    // Before all is set, so that no `deinit` runs on a loop that does not exist.
    let failed = unsafe uv_loop_init(loop)
    guard failed == 0 else { throw .noEventLoop(failed) }
    self.server = server
    self.index = index
    requestBase = UInt64(index) << 48
    unsafe uv_async_init(loop, wakeUp) { handle in
      guard let handle = unsafe handle else { return }
      unsafe EventLoop.of(handle.pointee.data).workArrived()
    }
    unsafe uv_timer_init(loop, clock)
    unsafe wakeUp.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    unsafe clock.pointee.data = Unmanaged.passUnretained(self).toOpaque()
  }

  deinit {
    closeOwnHandles()
    unsafe uv_run(loop, UV_RUN_DEFAULT)
    // Not earlier: until now other threads may have waked the loop, whose handle aborts once this is done.
    unsafe uv_loop_close(loop)
    unsafe loop.deallocate()
    unsafe wakeUp.deallocate()
    unsafe clock.deallocate()
    unsafe readBuffer.deallocate()
    unsafe openedBuffer.deallocate()
  }

  private static func of(_ data: UnsafeMutableRawPointer?) -> EventLoop {
    // Every handle of a loop carries it from before its first callback.
    guard let data = unsafe data else { preconditionFailure("a libuv handle without its loop") }
    return unsafe Unmanaged<EventLoop>.fromOpaque(data).takeUnretainedValue()
  }

  // MARK: - Life

  /// Starts the loop's thread, which takes connections from the given sockets.
  ///
  /// - Parameters:
  ///   - sockets: listening sockets that the loop owns from now on.
  ///   - onEnd: called on the loop's thread as its last act.
  /// - Throws: `.noEventLoop` without room for a thread; then the sockets are closed, and the loop has ended.
  func start(
    sockets: [ListeningSocket], onEnd: @escaping @Sendable () -> Void
  ) throws(ServerError) {
    self.onEnd = onEnd
    listeners = sockets.map { unsafe Listener($0, loop: self, on: loop) }
    unsafe uv_timer_start(
      clock,
      { handle in
        guard let handle = unsafe handle else { return }
        unsafe EventLoop.of(handle.pointee.data).tick()
      }, EventLoop.tickMilliseconds, EventLoop.tickMilliseconds)
    do throws(SystemError) { _ = try WorkerThread(named: "awd-loop-\(index)") { self.run() } } catch
    {
      drain(within: 0)
      run()
      throw .noEventLoop(-error.code)
    }
  }

  private func run() {
    threadID.store(UInt(pthread_self()), ordering: .relaxed)
    unsafe uv_run(loop, UV_RUN_DEFAULT)
    retire()
    onEnd?()
    onEnd = nil
  }

  /// Lets go of what came too late. The system may give this thread's identifier to another one.
  private func retire() {
    threadID.store(0, ordering: .relaxed)
    let late = mailbox.withLock { mailbox in
      mailbox.isClosed = true
      defer { mailbox.work = [] }
      return mailbox.work
    }
    for work in localWork + late { EventLoop.performElsewhere(work) }
    localWork = []
  }

  /// Tasks that outlive the loop must end too; closures would find no connection any more.
  private static func performElsewhere(_ work: Work) {
    if case .job(let job) = work { globalConcurrentExecutor.enqueue(job) }
  }

  /// Stops accepting, lets every connection finish, and ends the loop; at the deadline what is left is cut.
  ///
  /// - Parameter milliseconds: how long connections may take.
  func drain(within milliseconds: UInt64) {
    guard !isDraining else { return }
    isDraining = true
    drainDeadline = now + milliseconds
    for listener in listeners { listener.close() }
    listeners = []
    for connection in connections { connection?.drain() }
    endIfDone()
  }

  private func endIfDone() {
    if isDraining, openConnections == 0 { closeOwnHandles() }
  }

  private func closeOwnHandles() {
    guard unsafe uv_is_closing(asHandle(clock)) == 0 else { return }
    unsafe uv_close(asHandle(clock), nil)
    unsafe uv_close(asHandle(wakeUp), nil)
  }

  private func asHandle<T>(_ handle: UnsafeMutablePointer<T>) -> UnsafeMutablePointer<uv_handle_t> {
    unsafe UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
  }

  // MARK: - Time

  static let tickMilliseconds: UInt64 = 250

  /// The loop's clock in milliseconds, as of the start of this turn.
  var now: UInt64 { unsafe uv_now(loop) }

  /// The `Date` line of responses, prepared once a second. The clock is asked each time, as it may be set.
  var dateLine: [UInt8] {
    let now = HTTPDate(Int64(time(nil)))
    if now != date {
      date = now
      datePrepared = now.fieldLine
    }
    return datePrepared
  }

  private func tick() {
    for listener in listeners { listener.resume() }
    let isOver = now >= drainDeadline
    for connection in connections {
      guard let connection else { continue }
      if isOver { connection.reset() } else { connection.tick() }
    }
    settle()
  }

  /// A number for a new request, unlike any other of this process.
  func nextRequestID() -> UInt64 {
    requestCount &+= 1
    return requestBase | requestCount
  }

  // MARK: - Work from elsewhere

  /// Whether the caller runs on this loop's thread.
  public var isCurrent: Bool { threadID.load(ordering: .relaxed) == UInt(pthread_self()) }

  /// Runs a task's next piece on the loop.
  ///
  /// - Parameter job: the piece.
  public func enqueue(_ job: consuming ExecutorJob) {
    put(.job(UnownedJob(job)))
  }

  /// Runs a closure on the loop: at the end of this turn if called there, else soon; never once the loop has ended.
  ///
  /// - Parameter body: what to run; it must not block.
  public func execute(_ body: @escaping @Sendable () -> Void) {
    put(.call(body))
  }

  private func put(_ work: Work) {
    guard !isCurrent else {
      localWork.append(work)
      return
    }
    let waiting = mailbox.withLock { mailbox in
      guard !mailbox.isClosed else { return 0 }
      mailbox.work.append(work)
      return mailbox.work.count
    }
    switch waiting {
    case 0: EventLoop.performElsewhere(work)
    case 1: unsafe uv_async_send(wakeUp)
    default: break
    }
  }

  private func workArrived() {
    let arrived = mailbox.withLock { mailbox in
      let arrived = mailbox.work
      mailbox.work.removeAll(keepingCapacity: arrived.count < 1024)
      return arrived
    }
    for work in arrived { perform(work) }
    settle()
  }

  private func perform(_ work: Work) {
    switch work {
    case .job(let job): unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    case .call(let body): body()
    }
  }

  /// Ends a turn: runs what the turn's callbacks asked for and writes what they produced.
  func settle() {
    var rounds = 0
    while !localWork.isEmpty || !unflushed.isEmpty {
      rounds += 1
      guard rounds <= 16 else {
        // Others wait too: go on in the next turn.
        let rest = localWork
        localWork.removeAll()
        let isFirst = mailbox.withLock { mailbox in
          let isFirst = mailbox.work.isEmpty
          mailbox.work.append(contentsOf: rest)
          return isFirst
        }
        if isFirst { unsafe uv_async_send(wakeUp) }
        flushAll()
        return
      }
      swap(&localWork, &performing)
      for piece in performing { perform(piece) }
      performing.removeAll(keepingCapacity: performing.count < 1024)
      flushAll()
    }
  }

  private func flushAll() {
    swap(&unflushed, &flushing)
    for connection in flushing { connection.flush() }
    flushing.removeAll(keepingCapacity: flushing.count < 1024)
  }

  /// Remembers to flush a connection at the end of the turn.
  func needsFlush(_ connection: Connection) { unflushed.append(connection) }

  /// An empty buffer, with room from an earlier use if there is one.
  func takeBuffer() -> [UInt8] { spareBuffers.popLast() ?? [] }

  /// Takes back a buffer, so that idle connections hold none.
  func giveBack(_ buffer: consuming [UInt8]) {
    guard spareBuffers.count < 8, buffer.capacity <= 128 << 10 else { return }
    buffer.removeAll(keepingCapacity: true)
    spareBuffers.append(buffer)
  }

  // MARK: - Connections

  /// Takes a connected socket.
  ///
  /// - Parameters:
  ///   - descriptor: the socket, non-blocking, owned by the loop from now on.
  ///   - isLocal: whether it is a Unix socket.
  ///   - isSecure: whether it speaks TLS.
  ///   - peer: the peer's address as text.
  func adopt(_ descriptor: Int32, isLocal: Bool, isSecure: Bool, peer: String) {
    var tls: TLSSession?
    if isSecure {
      tls = server.tls.flatMap { TLSSession($0.context) }
      guard tls != nil else {
        close(descriptor)
        return
      }
    }
    generation &+= 1
    let slot = freeSlots.popLast() ?? UInt32(connections.count)
    if slot == connections.count { connections.append(nil) }
    let connection = unsafe Connection(
      id: ConnectionID(slot: slot, generation: generation), loop: self, on: loop,
      descriptor: descriptor, isLocal: isLocal, peer: peer, tls: tls)
    guard let connection else {
      close(descriptor)
      freeSlots.append(slot)
      return
    }
    connections[Int(slot)] = connection
    openConnections += 1
    server.openConnections.add(1, ordering: .relaxed)
    statistics.accepted.bump()
    statistics.connections.bump()
    connection.start()
  }

  /// The connection with an identifier, unless it has ended.
  func connection(_ id: ConnectionID) -> Connection? {
    guard Int(id.slot) < connections.count, let connection = connections[Int(id.slot)],
      connection.id == id
    else { return nil }
    return connection
  }

  /// Forgets a connection whose handle libuv has closed.
  func remove(_ id: ConnectionID) {
    guard connection(id) != nil else { return }
    connections[Int(id.slot)] = nil
    freeSlots.append(id.slot)
    openConnections -= 1
    server.openConnections.subtract(1, ordering: .relaxed)
    statistics.connections.bump(-1)
    endIfDone()
  }

  /// The memory that a socket is read into during one callback.
  func withReadBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    unsafe body(readBuffer)
  }
}
