internal import Testing
internal import Platform

@Suite struct KeyedMutexTests {
  @Test func runsTheSectionsOfAKeyOneAfterTheOther() async {
    let mutex = KeyedMutex<String>()
    let visitors = Visitors()
    await withTaskGroup { group in
      for number in 0..<20 {
        group.addTask {
          await mutex.withLock("a") {
            await visitors.enter(number)
            for _ in 0..<10 { await Task.yield() }
            await visitors.leave(number)
          }
        }
      }
      await group.waitForAll()
    }
    #expect(await visitors.wereAlone)
    #expect(await visitors.count == 20)
  }

  @Test func letsSectionsOfDifferentKeysRunAtOnce() async {
    let mutex = KeyedMutex<String>()
    await mutex.withLock("a") { await mutex.withLock("b") {} }
  }

  @Test func letsOwnersTakeTurns() async {
    let mutex = KeyedMutex<String>()
    let order = Lock<[Int]>([])
    let tasks = await mutex.withLock("a") {
      // Each waits before the next is made.
      [1, 1, 1, 2].map { owner in
        Task.immediate { @Sendable in
          await mutex.withLock("a", for: owner) { order.withLock { $0.append(owner) } }
        }
      }
    }
    for task in tasks { await task.value }
    #expect(order.withLock { $0 } == [1, 2, 1, 1])
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
