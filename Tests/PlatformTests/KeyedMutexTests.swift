internal import Testing
internal import Platform

@Suite struct KeyedMutexTests {
  @Test func runsTheSectionsOfAKeyOneAfterTheOther() async throws {
    let mutex = KeyedMutex<String>()
    let visitors = Visitors()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        group.addTask {
          try await mutex.withLock("a") {
            await visitors.enter(number)
            for _ in 0..<10 { await Task.yield() }
            await visitors.leave(number)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(await visitors.wereAlone)
    #expect(await visitors.count == 20)
  }

  @Test func letsSectionsOfDifferentKeysRunAtOnce() async throws {
    let mutex = KeyedMutex<String>()
    try await mutex.withLock("a") { try await mutex.withLock("b") {} }
  }

  @Test func letsOwnersTakeTurns() async throws {
    let mutex = KeyedMutex<String>()
    let order = Lock<[Int]>([])
    let tasks = try await mutex.withLock("a") {
      // Each waits before the next is made.
      [1, 1, 1, 2].map { owner in
        Task.immediate { @Sendable in
          try await mutex.withLock("a", for: owner) { order.withLock { $0.append(owner) } }
        }
      }
    }
    for task in tasks { try await task.value }
    #expect(order.withLock { $0 } == [1, 2, 1, 1])
  }

  @Test func aWaiterThatIsCancelledLeaves() async throws {
    let mutex = KeyedMutex<String>()
    let order = Lock<[Int]>([])
    let tasks = try await mutex.withLock("a") {
      let tasks = (0..<3).map { number in
        Task.immediate { @Sendable in
          try await mutex.withLock("a") { order.withLock { $0.append(number) } }
        }
      }
      tasks[1].cancel()
      // It doesn't wait for the key, which is still held.
      await #expect(throws: CancellationError.self) { try await tasks[1].value }
      return tasks
    }
    try await tasks[0].value
    try await tasks[2].value
    #expect(order.withLock { $0 } == [0, 2])
  }

  private actor Visitors {
    private var inside: Int?
    private(set) var wereAlone = true
    private(set) var count = 0

    func enter(_ number: Int) {
      if inside != nil { wereAlone = false }
      inside = number
    }

    func leave(_ number: Int) {
      if inside != number { wereAlone = false }
      inside = nil
      count += 1
    }
  }
}
