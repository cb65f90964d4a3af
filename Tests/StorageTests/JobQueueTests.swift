internal import Testing

@testable import Storage

@Suite struct JobTurnsTests {
  private func owner(_ client: Int, _ account: Int) throws -> WorkOwner {
    try #require(WorkOwner(client: client, account: account))
  }

  private func rest(of turns: inout JobTurns<String>) -> [String] {
    var order: [String] = []
    while let job = turns.popFirst() { order.append(job) }
    return order
  }

  @Test func clientsTakeTurnsAndSoDoTheirAccounts() throws {
    var turns = JobTurns<String>(limit: 100)
    for account in 1...2 {
      for number in 1...2 {
        #expect(turns.append("1.\(account) \(number)", for: try owner(1, account)) == nil)
      }
    }
    #expect(turns.append("nobody's", for: nil) == nil)
    #expect(turns.append("2.1", for: try owner(2, 1)) == nil)
    #expect(turns.append("2.1 again", for: try owner(2, 1)) == nil)
    #expect(
      rest(of: &turns) == [
        "1.1 1", "nobody's", "2.1", "1.2 1", "2.1 again", "1.1 2", "1.2 2",
      ])
    #expect(turns.count == 0)
  }

  @Test func aFullQueueTakesFromItsLargestClient() throws {
    var turns = JobTurns<String>(limit: 4)
    for account in 1...4 { _ = turns.append("1.\(account)", for: try owner(1, account)) }
    let lost = try #require(turns.append("2.1", for: try owner(2, 1)))
    #expect(lost.hasPrefix("1."))
    #expect(turns.append("nobody's", for: nil)?.hasPrefix("1.") == true)
    #expect(turns.append("3.1", for: try owner(3, 1))?.hasPrefix("1.") == true)
    // Nobody has more jobs than the newcomer would have.
    #expect(turns.append("4.1", for: try owner(4, 1)) == "4.1")
    #expect(turns.append("nobody's", for: nil) == "nobody's")
    #expect(turns.count == 4)
    let order = rest(of: &turns)
    #expect(order.count == 4 && order.contains("2.1") && order.contains("nobody's"))
  }

  @Test func aFullQueueTakesFromTheLargestAccountOfItsOnlyClient() throws {
    var turns = JobTurns<String>(limit: 3)
    for number in 1...3 { _ = turns.append("1.1 \(number)", for: try owner(1, 1)) }
    #expect(turns.append("1.2", for: try owner(1, 2)) == "1.1 3")
    #expect(turns.append("1.1 4", for: try owner(1, 1)) == "1.1 4")
    #expect(rest(of: &turns) == ["1.1 1", "1.2", "1.1 2"])
  }
}
