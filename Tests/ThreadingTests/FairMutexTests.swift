internal import Testing
internal import Threading

@Suite struct FairMutexTests {
  @Test func ownersTakeTurns() async {
    let mutex = FairMutex<String>()
    let (entered, enter) = AsyncStream.makeStream(of: String.self)
    await withTaskGroup { group in
      await mutex.withLock(for: "first") {
        for (owner, count) in [("busy", 3), ("other", 1)] {
          for _ in 0..<count {
            let isQueued = mutex.waiting + 1
            group.addTask { await mutex.withLock(for: owner) { _ = enter.yield(owner) } }
            while mutex.waiting < isQueued { await Task.yield() }
          }
        }
      }
      await group.waitForAll()
    }
    enter.finish()
    var order: [String] = []
    for await owner in entered { order.append(owner) }
    #expect(order == ["busy", "other", "busy", "busy"])
  }

  @Test func anErrorReleasesTheMutex() async {
    struct Failure: Error {}
    let mutex = FairMutex<Int>()
    await #expect(throws: Failure.self) { try await mutex.withLock(for: 1) { throw Failure() } }
    await mutex.withLock(for: 2) {}
  }
}
