internal import Testing

@testable import Msgr

struct EventQueueTests {
  @Test func `gives events in order`() async {
    let queue = EventQueue<Int>()
    for number in 0..<5 { queue.put(number) }
    #expect(await queue.take(within: .seconds(100)) == [0, 1, 2, 3, 4])
    #expect(await queue.take(within: .zero) == [])
  }

  @Test func `wakes who waits`() async {
    let queue = EventQueue<Int>()
    async let taken = queue.take(within: .seconds(100))
    queue.put(1)
    #expect(await taken == [1])
  }

  @Test func `ends with its task, and waits in the next one`() async {
    let queue = EventQueue<Int>()
    let task = Task { await queue.take(within: .seconds(100)) }
    task.cancel()
    #expect(await task.value == [])
    async let taken = queue.take(within: .seconds(100))
    queue.put(2)
    #expect(await taken == [2])
  }
}
