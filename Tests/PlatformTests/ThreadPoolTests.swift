internal import Dispatch
internal import Glibc
internal import Platform
internal import TestSupport
internal import Testing

/// An executor that keeps the niceness of the threads from which tasks are resumed.
private final class NicenessRecorder: SerialExecutor {
  let resumers = Lock<[CInt]>([])
  private let queue = DispatchQueue(label: "test")

  func enqueue(_ job: consuming ExecutorJob) {
    let niceness = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
    resumers.withLock { $0.append(niceness) }
    let job = UnownedJob(job)
    let executor = unsafe asUnownedSerialExecutor()
    queue.async { unsafe job.runSynchronously(on: executor) }
  }
}

private actor Caller {
  private let executor: NicenessRecorder
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  init(on executor: NicenessRecorder) { self.executor = executor }

  func run(on pool: ThreadPool) async throws -> CInt {
    try await pool.run { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
  }
}

@Suite(.ownThreads) struct ThreadPoolTests {
  private struct Failure: Error {}

  /// Otherwise threads that are started for the task would give way to others for ever, as only root may take that back.
  @Test func noTaskIsResumedFromAThreadThatGivesWay() async throws {
    let recorder = NicenessRecorder()
    let niceness = try await Caller(on: recorder).run(
      on: ThreadPool(named: "test", width: 1, niceness: 7))
    #expect(niceness == 7)
    #expect(recorder.resumers.withLock { Set($0) } == [0])
  }

  private final class Order: Sendable {
    let numbers = Lock<[Int]>([])
  }

  /// Two pieces of work run at once, a third waits, and a fourth is refused.
  @Test func runsAsManyAsItHasThreadsAndQueuesUpToItsLimit() async throws {
    let pool = ThreadPool(named: "test", width: 2, queue: 1)
    let started = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    let work = { @Sendable () -> Int in
      started.signal()
      mayEnd.wait()
      return 1
    }
    async let first = pool.run(work)
    async let second = pool.run(work)
    try await waitUntil { started.wait(timeout: .now()) == .success }
    try await waitUntil { started.wait(timeout: .now()) == .success }
    async let third = pool.run(work)
    try await waitUntil { pool.waiting == 1 }
    await #expect(throws: ThreadPool.Busy.self) { _ = try await pool.run(work) }
    #expect(started.wait(timeout: .now()) == .timedOut)
    for _ in 0..<3 { mayEnd.signal() }
    #expect(try await first + second + third == 3)
    #expect(pool.waiting == 0)
  }

  @Test func deferredWorkWaitsForAllOther() async throws {
    let pool = ThreadPool(named: "test", width: 1, queue: 4)
    let started = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    let order = Order()
    async let busy: Void = pool.run {
      started.signal()
      mayEnd.wait()
    }
    try await waitUntil { started.wait(timeout: .now()) == .success }
    try await withThrowingTaskGroup { group in
      for number in 0..<4 {
        group.addTask {
          try await pool.run(for: number, urgency: number < 2 ? .deferred : .prompt) {
            order.numbers.withLock { $0.append(number) }
          }
        }
        try await waitUntil { pool.waiting == number + 1 }
      }
      // Half as many may wait as of the other work.
      await #expect(throws: ThreadPool.Busy.self) {
        try await pool.run(for: 5, urgency: .deferred) {}
      }
      group.addTask {
        try await pool.run(for: 6, urgency: .urgent) { order.numbers.withLock { $0.append(6) } }
      }
      try await waitUntil { pool.waiting == 5 }
      mayEnd.signal()
      try await group.waitForAll()
    }
    try await busy
    #expect(order.numbers.withLock { $0 } == [6, 2, 3, 0, 1])
  }

  @Test func throwsTheErrorOfTheWorkAndGoesOn() async throws {
    let pool = ThreadPool(named: "test", width: 1, queue: 0)
    for _ in 0..<5 {
      await #expect(throws: Failure.self) {
        while true {
          do { return try await pool.run { throw Failure() } } catch is ThreadPool.Busy {
            // The thread of the last piece has not ended yet.
            await Task.yield()
          }
        }
      }
    }
  }

  @Test func mapsInTheOrderOfTheElements() async throws {
    let pool = ThreadPool(named: "test", width: 3)
    let elements = Array(0..<1000)
    #expect(try await pool.map(elements) { $0 * 2 } == elements.map { $0 * 2 })
    #expect(try await pool.map([Int]()) { $0 } == [])
  }

  @Test func namesItsThreads() async throws {
    let name = try await ThreadPool(named: "a-name-that-is-too-long", width: 1).run {
      let file = open("/proc/thread-self/comm", O_RDONLY)
      defer { close(file) }
      var buffer = [UInt8](repeating: 0, count: 32)
      let count = read(file, &buffer, buffer.count)
      return String(decoding: buffer.prefix(count), as: UTF8.self)
    }
    #expect(name == "a-name-that-is-\n")
  }
}

@Suite(.ownThreads) struct ProcessorsTests {
  @Test func countsThoseThatTheProcessMayUse() throws {
    let outcome = try ChildProcess.run("/usr/bin/nproc")
    #expect("\(Processors.count)\n" == outcome.output)
  }
}
