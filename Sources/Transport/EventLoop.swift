package import Platform

internal import CUV
internal import Glibc
internal import Synchronization

/// A libuv loop on a thread of its own, and the connections that live and die on it.
///
/// It is the executor of the tasks that belong to its connections, so that their state needs no lock.
@safe
package final class EventLoop: TaskExecutor, @unchecked Sendable {
  // Safe to share: other threads only touch `mailbox`, `threadID`, `statistics`, `wakeUp` (uv_async_send may be called
  // from anywhere) and constants; all else belongs to the loop's own thread once that has started.

  /// Work that another thread, or the present turn, leaves to the loop.
  private enum Work {
    case job(UnownedJob)
    case call(@Sendable () -> Void)
  }

  private struct Mailbox {
    var work: [Work] = []
    /// True if the loop has ended.
    var isClosed = false
  }

  /// The counters of the loop's connections.
  package let statistics = ConnectionStatistics()
  private let name: String
  private let mailbox = Lock(Mailbox())
  private let threadID = Atomic<UInt>(0)

  let loop = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
  private let wakeUp = UnsafeMutablePointer<uv_async_t>.allocate(capacity: 1)
  private let clock = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
  /// Runs while connections await their turn, so that the loop doesn't sleep.
  private let turns = UnsafeMutablePointer<uv_idle_t>.allocate(capacity: 1)
  /// Measures the two parts of a turn: up to the poll for events, and their treatment.
  private let partBefore = UnsafeMutablePointer<uv_prepare_t>.allocate(capacity: 1)
  private let partAfter = UnsafeMutablePointer<uv_check_t>.allocate(capacity: 1)
  private var handles: [UnsafeMutablePointer<uv_handle_t>] {
    unsafe [wakeUp.handle, clock.handle, turns.handle, partBefore.handle, partAfter.handle]
  }
  private var onEnd: (@Sendable () -> Void)?

  private var connections = ConnectionTable()
  /// The moment at which connections that are still open are reset; nil unless the loop is to end.
  private var endDeadline: Int64?

  // Each pair changes places, so that the requests of a piece of work go into the next round.
  private var localWork: [Work] = []
  private var performing: [Work] = []
  /// Empty except while the work that other threads have sent is performed.
  private var arrivedWork: [Work] = []
  private var unflushed: [Connection] = []
  private var flushing: [Connection] = []
  /// The connections that wait for their turn. Sites take turns, and in a site its networks, so that nobody's many connections
  /// keep those of others waiting.
  private var awaitingTurn = FairQueue<ConnectionID>(limit: .max)
  private var turnRecord = TurnRecord()
  /// The buffers of staged bytes, of which a turn may have few.
  var stagingBuffers = BufferPool(room: 0)
  /// The buffers of sealed bytes, which are sent at once. What a turn stages is seldom more than their room.
  var sealingBuffers = BufferPool(room: 64 << 10)

  /// The memory that sockets are read into; shared by all connections of the loop, valid for one callback.
  let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)

  /// The memory that TLS opens records into; shared by all connections of the loop, valid for one callback.
  let openedBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 64)

  private static let tickMilliseconds: UInt64 = 250
  /// The time in a turn after which connections that have input wait for their turns, in milliseconds.
  private static let inputTime: Int64 = 10

  /// Makes a loop that does not run yet.
  ///
  /// - Parameter name: the name of its thread, which the system cuts after 15 bytes.
  /// - Throws: ``SystemError`` if the system lacks descriptors or memory.
  package init(named name: String) throws(SystemError) {
    // Before all is set, so that no `deinit` runs on a loop that does not exist.
    var failed = unsafe uv_loop_init(loop)
    guard failed == 0 else { throw SystemError(-failed) }
    failed = unsafe uv_async_init(loop, wakeUp) { handle in
      unsafe Unmanaged<EventLoop>.object(of: handle?.pointee.data).workArrived()
    }
    guard failed == 0 else {
      unsafe uv_loop_close(loop)
      throw SystemError(-failed)
    }
    self.name = name
    unsafe uv_timer_init(loop, clock)
    unsafe uv_idle_init(loop, turns)
    unsafe uv_prepare_init(loop, partBefore)
    unsafe uv_check_init(loop, partAfter)
    unsafe handles.forEach { unsafe $0.pointee.data = Unmanaged.passUnretained(self).toOpaque() }
    unsafe uv_prepare_start(partBefore) { handle in
      unsafe Unmanaged<EventLoop>.object(of: handle?.pointee.data).measureTurn()
    }
    unsafe uv_check_start(partAfter) { handle in
      unsafe Unmanaged<EventLoop>.object(of: handle?.pointee.data).measureTurn()
    }
  }

  deinit {
    closeOwnHandles()
    unsafe uv_run(loop, UV_RUN_DEFAULT)
    // Not earlier: until now other threads may have waked the loop, whose handle aborts once this is done.
    unsafe uv_loop_close(loop)
    unsafe loop.deallocate()
    unsafe handles.forEach { unsafe $0.deallocate() }
    unsafe readBuffer.deallocate()
    unsafe openedBuffer.deallocate()
  }

  // MARK: - Life

  /// Starts the loop's thread, with all signals left to other threads: a write to a broken connection raises SIGPIPE
  /// here.
  ///
  /// - Parameter onEnd: called on the loop's thread as its last act.
  /// - Throws: ``SystemError`` if the system has no room for a thread; then the loop has ended.
  package func start(onEnd: @escaping @Sendable () -> Void = {}) throws(SystemError) {
    self.onEnd = onEnd
    do throws(SystemError) { _ = try WorkerThread(named: name) { self.run() } } catch {
      closeOwnHandles()
      self.onEnd = nil
      run()
      throw error
    }
  }

  private func run() {
    threadID.store(UInt(pthread_self()), ordering: .relaxed)
    unsafe uv_run(loop, UV_RUN_DEFAULT)
    retire()
    onEnd?()
    onEnd = nil
  }

  /// Hands over work that came too late. The system may give this thread's identifier to another one.
  private func retire() {
    threadID.store(0, ordering: .relaxed)
    let late = mailbox.withLock { mailbox in
      mailbox.isClosed = true
      return exchange(&mailbox.work, with: [])
    }
    for work in localWork + late { EventLoop.performElsewhere(work) }
    localWork = []
  }

  /// Tasks that outlive the loop must end too; closures would find no connection any more.
  private static func performElsewhere(_ work: Work) {
    if case .job(let job) = work { globalConcurrentExecutor.enqueue(job) }
  }

  /// Ends the loop once its last connection has ended; to be called on the loop.
  ///
  /// - Parameter limit: the time that connections have before they are reset, or nil for any time.
  package func end(within limit: Duration? = nil) {
    guard endDeadline == nil else { return }
    endDeadline = limit.map { now(after: $0) } ?? .max
    endIfDone()
  }

  private func endIfDone() { if endDeadline != nil, connections.count == 0 { closeOwnHandles() } }

  private func closeOwnHandles() {
    guard unsafe uv_is_closing(clock.handle) == 0 else { return }
    unsafe handles.forEach { unsafe uv_close($0, nil) }
  }

  // MARK: - Time

  /// The loop's clock in milliseconds, as of the start of this turn. It never goes back.
  package var now: Int64 { unsafe Int64(bitPattern: uv_now(loop)) }

  /// The moment on the loop's clock that comes a duration after this turn.
  ///
  /// - Returns: the moment, in milliseconds; the last one that can be written for an endless duration.
  package func now(after duration: Duration) -> Int64 {
    let (moment, overflows) = now.addingReportingOverflow(max(0, duration.milliseconds))
    return overflows ? .max : moment
  }

  private func tick() {
    let isOver = endDeadline.map { now >= $0 } ?? false
    for connection in connections.all {
      if isOver { connection.close(resetting: true) } else { connection.tick() }
    }
    endTurn()
  }

  /// Starts the clock with the first connection and stops it with the last, so that an idle loop sleeps.
  private func setClock(running isRunning: Bool) {
    guard unsafe uv_is_closing(clock.handle) == 0 else { return }
    guard isRunning else {
      unsafe uv_timer_stop(clock)
      return
    }
    unsafe uv_timer_start(
      clock, { handle in unsafe Unmanaged<EventLoop>.object(of: handle?.pointee.data).tick() },
      EventLoop.tickMilliseconds, EventLoop.tickMilliseconds)
  }

  // MARK: - Turns

  /// Remembers to give a connection its turn once the others had theirs.
  func awaitTurn(_ id: ConnectionID, of owner: WorkOwner?) {
    if awaitingTurn.count == 0 {
      unsafe uv_idle_start(turns) { handle in
        unsafe Unmanaged<EventLoop>.object(of: handle?.pointee.data).runTurns()
      }
    }
    // Without a limit none is refused.
    _ = awaitingTurn.append(id, for: owner)
  }

  /// Runs the turns that were asked for before, or as many as there is time for.
  private func runTurns() {
    for _ in 0..<awaitingTurn.count {
      guard let id = awaitingTurn.popFirst() else { break }
      connections[id]?.runTurn()
      if isInputTimeOver { break }
    }
    endTurn()
    if awaitingTurn.count == 0 { unsafe uv_idle_stop(turns) }
  }

  /// True if this turn has lasted for so long that no more input is to be taken in it.
  var isInputTimeOver: Bool { elapsed >= EventLoop.inputTime }

  /// The milliseconds since libuv took the time.
  private var elapsed: Int64 { Int64(uv_hrtime() / 1_000_000) - now }

  /// Measures the part of a turn since libuv took the time.
  private func measureTurn() {
    turnRecord.record(elapsed, now: now)
    statistics.longestTurn.store(turnRecord.longest, ordering: .relaxed)
  }

  // MARK: - Work from elsewhere

  /// True if the caller runs on this loop's thread.
  package var isCurrent: Bool { threadID.load(ordering: .relaxed) == UInt(pthread_self()) }

  /// Runs a task's next piece on the loop.
  package func enqueue(_ job: consuming ExecutorJob) { put(.job(UnownedJob(job))) }

  /// Runs a closure on the loop: at the end of this turn if called there, else soon; never once the loop has ended.
  ///
  /// Closures of one thread run in their order, also those from before the loop's start.
  ///
  /// - Parameter body: the closure; it must not block.
  package func execute(_ body: @escaping @Sendable () -> Void) { put(.call(body)) }

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
    // Exchanged, so that nothing is copied or freed while the senders' lock is held.
    mailbox.withLock { swap(&$0.work, &arrivedWork) }
    for work in arrivedWork { perform(work) }
    arrivedWork.removeAll(keepingCapacity: arrivedWork.count < 1024)
    endTurn()
  }

  private func perform(_ work: Work) {
    switch work {
    case .job(let job): unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    case .call(let body): body()
    }
  }

  /// Ends a turn: runs the work that its callbacks asked for and writes their output.
  func endTurn() {
    var rounds = 0
    while !localWork.isEmpty || !unflushed.isEmpty {
      rounds += 1
      guard rounds <= 16 else {
        // Others wait too: go on in the next turn.
        let rest = exchange(&localWork, with: [])
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

  // MARK: - Connections

  /// Takes a connected socket.
  ///
  /// - Parameters:
  ///   - isLocal: whether it is a Unix socket.
  ///   - tls: this end of TLS, or nil to send bytes as they are.
  ///   - minimumRate: how fast the peer must read.
  /// - Returns: a connection that is to be started, or nil if the system refused; then the socket is closed.
  package func adopt(
    _ descriptor: Int32, isLocal: Bool = false, peer: String = "", tls: TLSEndpoint? = nil,
    minimumRate: MinimumRate = MinimumRate()
  ) -> Connection? {
    let connection = connections.insert { id in
      Connection(
        id: id, loop: self, descriptor: descriptor, isLocal: isLocal, peer: peer, tls: tls,
        minimumRate: minimumRate)
    }
    guard let connection else {
      close(descriptor)
      return nil
    }
    if connections.count == 1 { setClock(running: true) }
    statistics.open.bump()
    return connection
  }

  /// The connection with an identifier, unless it has ended.
  package func connection(_ id: ConnectionID) -> Connection? { connections[id] }

  /// Calls a closure with each connection that has not ended.
  package func forEachConnection(_ body: (Connection) -> Void) {
    for connection in connections.all { body(connection) }
  }

  /// Forgets a connection whose handle libuv has closed.
  func remove(_ id: ConnectionID) {
    connections.remove(id)
    statistics.open.bump(-1)
    if connections.count == 0 { setClock(running: false) }
    endIfDone()
  }
}

/// A timer on an event loop; touched on the loop's thread only.
@safe
package final class LoopTimer {
  private let handle = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
  private unowned let loop: EventLoop
  private let fire: () -> Void

  /// Makes a timer that does not run yet. It lasts until ``close()``, and the loop lasts as long.
  ///
  /// - Parameter fire: called when the time is over.
  package init(on loop: EventLoop, _ fire: @escaping () -> Void) {
    self.loop = loop
    self.fire = fire
    unsafe uv_timer_init(loop.loop, handle)
    // libuv holds the handle, and it the timer, until the handle is closed.
    unsafe handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
  }

  /// Fires once after some time, counted from the start of this turn; an earlier start is forgotten.
  ///
  /// - Parameter duration: the time, in whole milliseconds.
  package func start(after duration: Duration) {
    unsafe uv_timer_start(
      handle,
      { handle in
        let timer = unsafe Unmanaged<LoopTimer>.object(of: handle?.pointee.data)
        timer.fire()
        timer.loop.endTurn()
      }, UInt64(max(0, duration.milliseconds)), 0)
  }

  /// Forgets the start.
  package func stop() { unsafe uv_timer_stop(handle) }

  /// Stops for good and frees the handle.
  package func close() { unsafe handle.handle.closeAndReleaseOwner() }
}

/// The longest turn of a loop within the last minute or two.
struct TurnRecord {
  /// The time after which a record is forgotten, twice, in milliseconds.
  private static let span: Int64 = 60_000

  private var begin: Int64 = 0
  private var present: Int64 = 0
  private var previous: Int64 = 0

  /// The duration of the longest turn, in milliseconds.
  var longest: Int { Int(max(present, previous)) }

  /// Records a turn.
  ///
  /// - Parameters:
  ///   - duration: its duration in milliseconds.
  ///   - now: the moment in milliseconds.
  mutating func record(_ duration: Int64, now: Int64) {
    if now - begin >= TurnRecord.span {
      previous = now - begin >= 2 * TurnRecord.span ? 0 : present
      present = 0
      begin = now
    }
    if duration > present { present = duration }
  }
}
