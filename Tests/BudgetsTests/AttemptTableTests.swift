internal import Budgets
internal import TestSupport
internal import Testing
internal import Platform

@Suite(.ownThreads) struct AttemptTableTests {
  /// Steps of one second: an event leaves eight seconds after its own is over.
  @Test func eventsLeaveOneByOne() {
    let clock = TestClock()
    let table = AttemptTable(span: .seconds(8), clock: { clock.now })
    #expect(table.count("a", upTo: 2) == nil)
    clock.advance(by: .milliseconds(7500))
    #expect(table.count("a", upTo: 2) == nil)
    #expect(table.wait(for: "a", upTo: 2) == 2)
    #expect(table.count("a", upTo: 2) == 2)
    #expect(table.count("b", upTo: 2) == nil)
    clock.advance(by: .milliseconds(1500))
    #expect(table.wait(for: "a", upTo: 2) == nil)
    #expect(table.count("a", upTo: 2) == nil)
    // The one of 7.5 s is the older one now.
    #expect(table.count("a", upTo: 2) == 7)
  }

  /// Wherever a span begins, it has no more events than it may.
  @Test func noSpanHasMoreThanItMay() {
    let clock = TestClock()
    let table = AttemptTable(span: .seconds(8), clock: { clock.now })
    var taken: [Int64] = []
    for _ in 0..<4000 {
      clock.advance(by: .milliseconds(13))
      if table.count("a", upTo: 5) == nil { taken.append(clock.now.milliseconds) }
    }
    #expect(zip(taken, taken.dropFirst(5)).allSatisfy { $1 - $0 >= 8000 })
    // 52 seconds, of which a span lasts nine at most.
    #expect(taken.count >= 25)
  }

  @Test func eventsAreTakenBack() {
    let table = AttemptTable(span: .seconds(10), clock: { Timestamp(milliseconds: 5) })
    #expect(table.count("a", upTo: 1) == nil)
    table.refund("a")
    #expect(table.count("a", upTo: 1) == nil)
    #expect(table.count("a", upTo: 1) == 12)
    table.refund("never seen")
  }

  @Test func aLimitOfNoneIsReachedBeforeTheFirstEvent() {
    let table = AttemptTable(span: .seconds(10), clock: { Timestamp(milliseconds: 5) })
    #expect(table.wait(for: "a", upTo: 0) == 12)
    #expect(table.count("a", upTo: 0) == 12)
  }

  @Test func aClockSetBackLocksNobodyOut() {
    let clock = TestClock()
    let table = AttemptTable(span: .seconds(10), clock: { clock.now })
    #expect(table.count("a", upTo: 1) == nil)
    clock.advance(by: .seconds(-1000))
    #expect(table.wait(for: "a", upTo: 1) == nil)
    #expect(table.count("a", upTo: 1) == nil)
  }

  @Test func aFloodOfKeysDoesntPushOutWhoCounts() {
    let table = AttemptTable(span: .seconds(10), size: 64, clock: { Timestamp(milliseconds: 5) })
    for _ in 0..<5 { _ = table.count("guesser", upTo: 5) }
    for number in 0..<10_000 { _ = table.count(number, upTo: 5) }
    #expect(table.wait(for: "guesser", upTo: 5) == 12)
  }

  @Test func anEventCanCountAsMany() {
    let clock = TestClock()
    let table = AttemptTable(span: .seconds(8), clock: { clock.now })
    #expect(table.count("a", amount: 60, upTo: 100) == nil)
    #expect(table.count("a", amount: 41, upTo: 100) == 9)
    #expect(table.count("a", amount: 40, upTo: 100) == nil)
    #expect(table.count("a", upTo: 100) == 9)
    #expect(table.count("b", amount: 101, upTo: 100) != nil)
    clock.advance(by: .seconds(9))
    #expect(table.count("a", amount: 100, upTo: 100) == nil)
  }
}
