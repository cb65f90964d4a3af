import Testing

@testable import Platform

@Suite struct FairQueueTests {
  private struct Client: WorkClient {
    let site: Int
    let number: Int

    var siteHash: Int { site }
  }

  private func owner(_ client: Int, _ account: Int = 0) -> WorkOwner? {
    WorkOwner(client: client, account: account)
  }

  private func rest<Element>(of queue: inout FairQueue<Element>) -> [Element] {
    var order: [Element] = []
    while let next = queue.popFirst() { order.append(next) }
    return order
  }

  @Test func ownersTakeTurns() {
    var queue = FairQueue<Int>(limit: 10)
    for (element, client) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 3), (6, 2)] {
      #expect(queue.append(element, for: owner(client)) == nil)
    }
    #expect(rest(of: &queue) == [1, 4, 5, 2, 6, 3])
    #expect(queue.count == 0)
  }

  @Test func clientsTakeTurnsAndSoDoTheirAccounts() {
    var queue = FairQueue<String>(limit: 100)
    for account in 1...2 {
      for number in 1...2 {
        #expect(queue.append("1.\(account) \(number)", for: owner(1, account)) == nil)
      }
    }
    #expect(queue.append("nobody's", for: nil) == nil)
    #expect(queue.append("2.1", for: owner(2, 1)) == nil)
    #expect(queue.append("2.1 again", for: owner(2, 1)) == nil)
    #expect(
      rest(of: &queue) == [
        "1.1 1", "nobody's", "2.1", "1.2 1", "2.1 again", "1.1 2", "1.2 2",
      ])
  }

  @Test func aSiteOfManyClientsHasOneTurn() {
    var queue = FairQueue<String>(limit: 100)
    for number in 1...50 {
      let client = WorkOwner(client: Client(site: 1, number: number))
      #expect(queue.append("1.\(number)", for: client) == nil)
    }
    #expect(queue.append("2.1", for: WorkOwner(client: Client(site: 2, number: 1))) == nil)
    #expect(queue.popFirst() == "1.1")
    #expect(queue.popFirst() == "2.1")
    #expect(queue.popFirst() == "1.2")
  }

  @Test func theLargestOwnerOfAFullQueueLosesItsLast() {
    var queue = FairQueue<Int>(limit: 3)
    for element in 1...3 { #expect(queue.append(element, for: owner(1)) == nil) }
    #expect(queue.append(4, for: owner(1)) == 4)
    #expect(queue.append(5, for: owner(2)) == 3)
    // Both owners would have as many now.
    #expect(queue.append(6, for: owner(2)) == 6)
    #expect(queue.append(7, for: owner(3)) == 2)
    #expect(queue.count == 3)
    #expect(rest(of: &queue) == [1, 5, 7])
  }

  @Test func aFullQueueTakesFromTheLargestSiteAndNotFromANewcomers() {
    var queue = FairQueue<String>(limit: 4)
    for number in 1...4 {
      // Each network of the site has one place, no more than a newcomer would have.
      let client = WorkOwner(client: Client(site: 1, number: number))
      #expect(queue.append("1.\(number)", for: client) == nil)
    }
    let newcomer = WorkOwner(client: Client(site: 2, number: 1))
    #expect(queue.append("2.1", for: newcomer)?.hasPrefix("1.") == true)
    #expect(queue.append("nobody's", for: nil)?.hasPrefix("1.") == true)
    #expect(queue.append("3.1", for: owner(3, 1))?.hasPrefix("1.") == true)
    // Nobody has more than the newcomer would have.
    #expect(queue.append("4.1", for: owner(4, 1)) == "4.1")
    #expect(queue.count == 4)
    let order = rest(of: &queue)
    #expect(order.contains("2.1") && order.contains("nobody's"))
  }

  @Test func aFullQueueTakesFromTheLargestAccountOfItsOnlyClient() {
    var queue = FairQueue<String>(limit: 3)
    for number in 1...3 { _ = queue.append("1.1 \(number)", for: owner(1, 1)) }
    #expect(queue.append("1.2", for: owner(1, 2)) == "1.1 3")
    #expect(queue.append("1.1 4", for: owner(1, 1)) == "1.1 4")
    #expect(rest(of: &queue) == ["1.1 1", "1.2", "1.1 2"])
  }

  @Test func whatIsRemovedHasNoTurn() throws {
    var queue = FairQueue<Int>(limit: 10)
    let first = try #require(owner(1))
    _ = queue.append(1, for: first)
    _ = queue.append(2, for: owner(2))
    let wasFound = queue.remove(1, of: first)
    #expect(wasFound)
    let isFoundAgain = queue.remove(1, of: first)
    #expect(!isFoundAgain)
    #expect(queue.count == 1)
    #expect(rest(of: &queue) == [2])
  }

  @Test func aQueueWithoutRoomTakesNothing() {
    var queue = FairQueue<Int>(limit: 0)
    #expect(queue.append(1, for: owner(1)) == 1)
    #expect(queue.popFirst() == nil)
  }
}
