internal import Testing
internal import Transport

@Suite struct RateWindowTests {
  private let rate = MinimumRate(bytesPerSecond: 100, grace: .seconds(10))

  @Test func `gives time before it judges`() {
    var window = RateWindow(now: 1_000)
    let verdict1 = window.isTooSlow(for: rate, count: 0, now: 11_000)
    #expect(!verdict1)
    let verdict2 = window.isTooSlow(for: rate, count: 0, now: 11_001)
    #expect(verdict2)
  }

  @Test func `does not count before it judges`() {
    var window = RateWindow(now: 0)
    var counts = 0
    func count() -> Int {
      counts += 1
      return 5_000
    }
    let verdict3 = window.isTooSlow(for: rate, count: count(), now: 10_000)
    #expect(!verdict3)
    #expect(counts == 0)
    let verdict4 = window.isTooSlow(for: rate, count: count(), now: 20_000)
    #expect(!verdict4)
    #expect(counts == 1)
  }

  @Test func `gives no credit for a good beginning`() {
    var window = RateWindow(now: 0, count: 7)
    let verdict5 = window.isTooSlow(for: rate, count: 1_000_000, now: 20_000)
    #expect(!verdict5)
    let verdict6 = window.isTooSlow(for: rate, count: 1_000_000, now: 30_000)
    #expect(!verdict6)
    let verdict7 = window.isTooSlow(for: rate, count: 1_000_001, now: 30_001)
    #expect(verdict7)
  }

  @Test func `takes what was lost as no progress`() {
    var window = RateWindow(now: 0, count: 100)
    let verdict8 = window.isTooSlow(for: rate, count: 50, now: 20_000)
    #expect(verdict8)
  }
}
