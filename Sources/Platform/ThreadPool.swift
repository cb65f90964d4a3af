internal import Glibc
internal import Synchronization

/// Runs work that blocks or keeps a core busy on a few threads of its own, beside the event loops and the cooperative
/// pool.
///
/// Threads start when there is work and end when there is none, so an idle pool costs nothing.
package final class ThreadPool: Sendable {
  private struct Work: Sendable {
    let run: @Sendable () -> Void
    /// Called instead if another owner gets the place in the queue.
    let refuse: @Sendable () -> Void
  }

  private struct State {
    var running = 0
    /// The work that comes before all other work.
    var urgent: FairQueue<Work>
    /// The work that waits.
    var waiting: FairQueue<Work>
    /// The work that waits for all other work.
    var deferred: FairQueue<Work>

    mutating func popFirst() -> Work? {
      urgent.popFirst() ?? waiting.popFirst() ?? deferred.popFirst()
    }
  }

  /// The order in which waiting work is done.
  package enum Urgency: Sendable {
    /// The work is done before all other, when it is its owner's turn among such.
    case urgent
    /// The work is done when it is its owner's turn.
    case prompt
    /// The work is done when no prompt work waits.
    case deferred
  }

  private let name: String
  private let width: Int
  private let niceness: CInt
  private let state: Lock<State>

  /// Makes a pool without starting a thread.
  ///
  /// - Parameters:
  ///   - name: the name of its threads; the system cuts it after 15 bytes.
  ///   - width: the number of pieces of work that run at once, at least one.
  ///   - queueLimit: the number of further pieces that may wait; besides them as many urgent and half as many deferred ones.
  ///   - niceness: the degree to which its threads give way to others, 0 (not at all) to 19.
  package init(
    named name: String, width: Int = Processors.count, queue queueLimit: Int = .max,
    niceness: CInt = 0
  ) {
    self.name = name
    self.width = max(1, width)
    self.niceness = niceness
    state = Lock(
      State(
        urgent: FairQueue(limit: queueLimit), waiting: FairQueue(limit: queueLimit),
        deferred: FairQueue(limit: queueLimit / 2)))
    // Its thread has to come from one that gives way to nobody.
    if niceness > 0 { _ = TaskResumer.shared }
  }

  /// The error of a pool whose queue is full.
  package struct Busy: Error {}

  /// The number of pieces of work that wait for a thread.
  package var waiting: Int {
    state.withLock { $0.urgent.count + $0.waiting.count + $0.deferred.count }
  }

  /// Runs a closure on one of the threads, in the order in which closures were submitted.
  ///
  /// - Parameter body: the work, which may block.
  /// - Returns: the closure's result.
  /// - Throws: ``Busy`` if the queue is full, ``SystemError`` if no thread can be started, or the closure's error.
  package func run<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value { try await run(for: Int?.none, body) }

  /// Runs a closure on one of the threads, when it is the owner's turn.
  ///
  /// Sites take turns, and so do the clients of one site. If the queue is full, the one with most work in it loses some. So work
  /// of one site waits for at most one piece of each other site.
  ///
  /// - Parameters:
  ///   - client: the one for whom the work is done, such as a client's network; nil for one that all others share.
  ///   - urgency: the order among the work that waits.
  ///   - body: the work, which may block.
  /// - Returns: the closure's result.
  /// - Throws: ``Busy`` if the queue is full, ``SystemError`` if no thread can be started, or the closure's error.
  package func run<Value: Sendable>(
    for client: (some WorkClient)?, urgency: Urgency = .prompt,
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let owner = WorkOwner(client: client) ?? WorkOwner(number: 0)
    return try await withCheckedThrowingContinuation { continuation in
      let work = Work(
        run: { [niceness] in
          let result = Result(catching: body)
          guard niceness > 0 else { return continuation.resume(with: result) }
          TaskResumer.shared.run { continuation.resume(with: result) }
        },
        refuse: { continuation.resume(throwing: Busy()) })
      do { try submit(work, for: owner, urgency) } catch { continuation.resume(throwing: error) }
    }
  }

  /// Transforms every element, as many at once as the pool has threads.
  ///
  /// - Parameter transform: makes a value of an element; it may block.
  /// - Returns: the values, in the order of the elements.
  /// - Throws: as ``run(_:)``.
  package func map<Element: Sendable, Value: Sendable>(
    _ elements: [Element], _ transform: @escaping @Sendable (Element) -> Value
  ) async throws -> [Value] {
    let lanes = min(width, elements.count)
    return try await withThrowingTaskGroup(of: [(index: Int, value: Value)].self) { group in
      for lane in 0..<lanes {
        group.addTask {
          try await self.run {
            stride(from: lane, to: elements.count, by: lanes).map { ($0, transform(elements[$0])) }
          }
        }
      }
      let values = try await group.reduce(into: []) { $0 += $1 }
      return values.sorted { $0.index < $1.index }.map(\.value)
    }
  }

  private func submit(_ work: Work, for owner: WorkOwner, _ urgency: Urgency) throws {
    let (isThreadNeeded, refused) = state.withLock { state -> (Bool, Work?) in
      if state.running < width {
        state.running += 1
        return (true, nil)
      }
      switch urgency {
      case .urgent: return (false, state.urgent.append(work, for: owner))
      case .prompt: return (false, state.waiting.append(work, for: owner))
      case .deferred: return (false, state.deferred.append(work, for: owner))
      }
    }
    refused?.refuse()
    guard isThreadNeeded else { return }
    do {
      _ = try WorkerThread(named: name, niceness: niceness) { [self] in
        work.run()
        while let next = nextOrEnd() { next.run() }
      }
    } catch {
      for stranded in threadFailed() { stranded.refuse() }
      throw error
    }
  }

  /// Counts a thread that could not be started.
  ///
  /// - Returns: the work for which there is no other thread.
  private func threadFailed() -> [Work] {
    state.withLock { state in
      state.running -= 1
      var stranded: [Work] = []
      while state.running == 0, let work = state.popFirst() { stranded.append(work) }
      return stranded
    }
  }

  private func nextOrEnd() -> Work? {
    state.withLock { state in
      if let next = state.popFirst() { return next }
      state.running -= 1
      return nil
    }
  }
}

/// Resumes tasks in place of threads that give way to others.
///
/// A thread that the resumption of a task starts inherits the niceness of the one that resumes it, and only root may take
/// that back.
private final class TaskResumer: Sendable {
  private final class Queue: Sendable {
    let resumptions = Monitor(FIFO<@Sendable () -> Void>())
  }

  static let shared = TaskResumer()

  private let queue: Queue
  private let hasThread: Bool

  private init() {
    let queue = Queue()
    self.queue = queue
    let thread = try? WorkerThread(named: "awd-resume") {
      while true {
        let resume = queue.resumptions.withLock(when: { $0.count > 0 }) { $0.popFirst() }
        resume?()
      }
    }
    hasThread = thread != nil
  }

  func run(_ resume: @escaping @Sendable () -> Void) {
    guard hasThread else { return resume() }
    queue.resumptions.withLock { _ = $0.append(resume) }
    queue.resumptions.wakeOne()
  }
}

/// A thread outside the cooperative pool, which may block.
///
/// A thread whose handle is released before ``join()`` runs on by itself.
@safe package final class WorkerThread: Sendable {
  private let thread: pthread_t
  private let isJoined = Atomic(false)

  /// Starts a thread.
  ///
  /// - Parameters:
  ///   - name: the name that debuggers and `top -H` show; the system cuts it after 15 bytes.
  ///   - niceness: the degree to which the thread gives way to others, 0 (not at all) to 19.
  /// - Throws: ``SystemError`` if the system has no room for a thread.
  package init(
    named name: String, niceness: CInt = 0, _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    let start = unsafe Unmanaged.passRetained(
      Start {
        Self.rename(name)
        // Linux counts niceness by thread; a system that refuses it does no harm.
        if niceness > 0 { _ = setpriority(CInt(PRIO_PROCESS.rawValue), 0, niceness) }
        body()
      })
    var everySignal = sigset_t()
    var previous = sigset_t()
    unsafe sigfillset(&everySignal)
    unsafe pthread_sigmask(SIG_SETMASK, &everySignal, &previous)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }
    var thread = pthread_t()
    let result = unsafe pthread_create(
      &thread, nil,
      { argument in
        if let argument = unsafe argument {
          unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
        }
        return nil
      }, start.toOpaque())
    guard result == 0 else {
      unsafe start.release()
      throw SystemError(result)
    }
    self.thread = thread
  }

  /// Waits for the thread's end.
  package func join() {
    guard !isJoined.exchange(true, ordering: .relaxed) else { return }
    pthread_join(thread, nil)
  }

  /// Names the calling thread, by the file that Linux has for it: the C function is hidden from Swift.
  private static func rename(_ name: String) {
    let file = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    let bytes = [UInt8](name.utf8.prefix(15))
    _ = unsafe write(file, bytes, bytes.count)
    close(file)
  }

  deinit { if !isJoined.load(ordering: .relaxed) { pthread_detach(thread) } }

  /// Carries the closure to the new thread.
  private final class Start {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}

/// The processors that threads run on.
package enum Processors {
  /// The number of processors that this process may use: an operator may leave it fewer than the machine has.
  package static let count = max(1, min(online, allowed ?? online))

  private static var online: Int { sysconf(Int32(_SC_NPROCESSORS_ONLN)) }

  /// The number of bits in the mask that Linux shows for the process, as the C function that asks for it is hidden from
  /// Swift. The mask may name processors that the machine doesn't have.
  private static var allowed: Int? {
    guard let file = unsafe fopen("/proc/self/status", "re") else { return nil }
    defer { unsafe fclose(file) }
    var line: UnsafeMutablePointer<CChar>?
    var room = 0
    defer { unsafe free(line) }
    let name = "Cpus_allowed:"
    while unsafe getline(&line, &room, file) > 0, let line = unsafe line {
      let text = unsafe String(cString: line)
      guard text.hasPrefix(name) else { continue }
      return text.dropFirst(name.count).compactMap(\.hexDigitValue).reduce(0) {
        $0 + $1.nonzeroBitCount
      }
    }
    return nil
  }
}
