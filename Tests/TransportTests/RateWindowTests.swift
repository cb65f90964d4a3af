internal import Testing
internal import Transport

@Suite struct RateWindowTests {
  private let rate = MinimumRate(bytesPerSecond: 100, grace: .seconds(10))

  @Test func givesTimeBeforeItJudges() {
    var window = RateWindow(now: 1_000)
    let atGrace = window.isTooSlow(for: rate, count: 0, now: 11_000)
    #expect(!atGrace)
    let afterGrace = window.isTooSlow(for: rate, count: 0, now: 11_001)
    #expect(afterGrace)
  }

  @Test func doesNotCountBeforeItJudges() {
    var window = RateWindow(now: 0)
    var counts = 0
    func count() -> Int {
      counts += 1
      return 5_000
    }
    let atGrace = window.isTooSlow(for: rate, count: count(), now: 10_000)
    #expect(!atGrace)
    #expect(counts == 0)
    let fastEnough = window.isTooSlow(for: rate, count: count(), now: 20_000)
    #expect(!fastEnough)
    #expect(counts == 1)
  }

  @Test func givesNoCreditForAGoodBeginning() {
    var window = RateWindow(now: 0, count: 7)
    let atFirst = window.isTooSlow(for: rate, count: 1_000_000, now: 20_000)
    #expect(!atFirst)
    let withinGrace = window.isTooSlow(for: rate, count: 1_000_000, now: 30_000)
    #expect(!withinGrace)
    let afterGrace = window.isTooSlow(for: rate, count: 1_000_001, now: 30_001)
    #expect(afterGrace)
  }

  @Test func takesWhatWasLostAsNoProgress() {
    var window = RateWindow(now: 0, count: 100)
    let afterLoss = window.isTooSlow(for: rate, count: 50, now: 20_000)
    #expect(afterLoss)
  }
}
