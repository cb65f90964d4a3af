internal import Budgets
internal import Platform
internal import TestSupport
internal import Testing

@Suite struct RefillTableTests {
  @Test func whatIsChargedIsLackedLater() {
    let clock = TestClock()
    let table = RefillTable { clock.now }
    let rate = RefillTable.Rate(burst: 4, refill: .seconds(10))
    table.charge("a", at: rate, amount: 3)
    #expect(table.use("a", at: rate) == nil)
    #expect(table.use("a", at: rate) == 10)
    #expect(table.use("b", at: rate) == nil)
    // Nobody waits for longer than the burst takes.
    table.charge("a", at: rate, amount: 1000)
    #expect(table.use("a", at: rate) == 10)
    clock.advance(by: .seconds(10))
    #expect(table.use("a", at: rate) == nil)
  }
}
