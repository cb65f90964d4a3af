internal import Platform
internal import TestSupport
internal import Testing

@Suite(.ownThreads) struct MonitorTests {
  private final class Shared: Sendable {
    let numbers = Monitor([Int]())
  }

  @Test func wakesAThreadWhenTheValueIsAsWanted() throws {
    let shared = Shared()
    let thread = try WorkerThread(named: "test") {
      for number in 1...100 {
        shared.numbers.withLock { $0.append(number) }
        shared.numbers.wakeOne()
      }
    }
    let numbers = shared.numbers.withLock(when: { $0.count == 100 }) { $0 }
    #expect(numbers == Array(1...100))
    thread.join()
  }

  @Test func wakesAllThreadsThatWait() throws {
    let shared = Shared()
    let threads = try (0..<4).map { _ in
      try WorkerThread(named: "test") {
        shared.numbers.withLock(when: { !$0.isEmpty }) { $0.append(0) }
      }
    }
    shared.numbers.withLock { $0.append(1) }
    shared.numbers.wakeAll()
    for thread in threads { thread.join() }
    #expect(shared.numbers.withLock { $0 } == [1, 0, 0, 0, 0])
  }

  @Test func endsAWaitWhenItsTimeIsOver() {
    let monitor = Monitor(0)
    var asked = 0
    let start = ContinuousClock.now
    let value = monitor.withLock(
      when: { _ in
        asked += 1
        return false
      }, within: .milliseconds(20)
    ) { value in
      value += 1
      return value
    }
    #expect(value == 1 && asked >= 1)
    #expect(ContinuousClock.now - start >= .milliseconds(20))
    #expect(monitor.withLock(when: { _ in false }, within: .zero) { $0 } == 1)
  }
}
