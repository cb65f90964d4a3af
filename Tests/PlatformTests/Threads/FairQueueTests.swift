internal import Testing
internal import Platform

@Suite struct FairQueueTests {
  @Test func ownersTakeTurns() {
    var queue = FairQueue<String, Int>(limit: 10)
    for (element, owner) in [(1, "a"), (2, "a"), (3, "a"), (4, "b"), (5, "c"), (6, "b")] {
      #expect(queue.append(element, for: owner) == nil)
    }
    var order: [Int] = []
    while let next = queue.popFirst() { order.append(next) }
    #expect(order == [1, 4, 5, 2, 6, 3])
    #expect(queue.count == 0)
  }

  @Test func theLargestOwnerOfAFullQueueLosesItsLast() {
    var queue = FairQueue<String, Int>(limit: 3)
    for element in 1...3 { #expect(queue.append(element, for: "a") == nil) }
    #expect(queue.append(4, for: "a") == 4)
    #expect(queue.append(5, for: "b") == 3)
    // Both owners would have as many now.
    #expect(queue.append(6, for: "b") == 6)
    #expect(queue.append(7, for: "c") == 2)
    #expect(queue.count == 3)
    #expect(queue.popFirst() == 1)
    #expect(queue.popFirst() == 5)
    #expect(queue.popFirst() == 7)
    #expect(queue.popFirst() == nil)
  }

  @Test func aQueueWithoutRoomTakesNothing() {
    var queue = FairQueue<String, Int>(limit: 0)
    #expect(queue.append(1, for: "a") == 1)
    #expect(queue.popFirst() == nil)
  }
}
