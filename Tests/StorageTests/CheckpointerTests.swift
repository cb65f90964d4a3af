internal import Testing

@testable import Storage

@Suite struct CheckpointPlanTests {
  private let growth = CheckpointPlan.growth

  @Test func aCopyBeginsWhenTheLogHasGrown() {
    var plan = CheckpointPlan()
    #expect(plan.step(atLength: growth - 1, isCopying: false) == nil)
    #expect(plan.step(atLength: growth, isCopying: false) == .begin)
    #expect(plan.step(atLength: growth + 100, isCopying: true) == nil)
  }

  @Test func theWriterCopiesWhatCameBesideACopyOnce() {
    var plan = CheckpointPlan()
    #expect(plan.step(atLength: growth, isCopying: false) == .begin)
    #expect(plan.step(atLength: growth + 100, isCopying: false) == .finish)
    // A reader keeps the log from beginning anew.
    #expect(plan.step(atLength: growth + 200, isCopying: false) == nil)
    #expect(plan.step(atLength: 2 * growth + 100, isCopying: false) == .begin)
  }

  @Test func theLogGrowsByNoMoreThanThatBesideACopy() {
    var plan = CheckpointPlan()
    #expect(plan.step(atLength: growth, isCopying: false) == .begin)
    #expect(plan.step(atLength: 2 * growth - 1, isCopying: true) == nil)
    #expect(plan.step(atLength: 2 * growth, isCopying: true) == .finish)
  }

  @Test func aLogThatBeganAnewIsCopiedByItself() {
    var plan = CheckpointPlan()
    #expect(plan.step(atLength: growth, isCopying: false) == .begin)
    #expect(plan.step(atLength: 10, isCopying: false) == nil)
    #expect(plan.step(atLength: growth, isCopying: false) == .begin)
    #expect(plan.step(atLength: growth + 1, isCopying: false) == .finish)
    #expect(plan.step(atLength: 10, isCopying: false) == nil)
  }
}
