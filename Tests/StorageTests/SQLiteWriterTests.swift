internal import Testing

@testable import Storage

@Suite struct GroupTargetTests {
  /// Makes a target after many commits of one millisecond, with a number of tasks.
  private func target(_ tasks: Int, limit: Int = 256, processors: Int = 2) -> GroupTarget {
    var target = GroupTarget(limit: limit, processors: processors)
    for _ in 0..<100 { target.recordGroup(committedIn: .milliseconds(1), expected: tasks) }
    return target
  }

  @Test func aGroupWaitsForAllWhoAreExpected() {
    var target = target(64)
    #expect(target.count == 64)
    #expect(target.most == 256)
    #expect(!target.isHalved)
    // A quarter of a commit, less what the smoothing has not reached.
    #expect(target.patience > .microseconds(249))
    #expect(target.patience <= .microseconds(250))
    target.recordIdle(.microseconds(900))
    target.recordGroup(committedIn: .milliseconds(1), expected: 64)
    #expect(target.count == 64)
    #expect(self.target(64, limit: 48).count == 48)
  }

  @Test func aWriterWithoutWorkForLongerThanACommitHalvesGroups() {
    var target = target(64)
    target.recordIdle(.microseconds(600))
    target.recordIdle(.microseconds(600))
    target.recordGroup(committedIn: .milliseconds(1), expected: 63)
    #expect(target.isHalved)
    #expect(target.count == 32)
    #expect(target.most == 32)
  }

  @Test func allAreTriedInOneGroupAgainNowAndThen() {
    var target = target(64)
    target.recordIdle(.milliseconds(2))
    for group in 0..<64 {
      target.recordGroup(committedIn: .milliseconds(1), expected: 64)
      #expect(target.isHalved, "\(group)")
    }
    target.recordGroup(committedIn: .milliseconds(1), expected: 64)
    #expect(target.count == 64)
    target.recordIdle(.milliseconds(2))
    target.recordGroup(committedIn: .milliseconds(1), expected: 64)
    #expect(target.count == 32)
  }

  @Test func oneProcessorKeepsGroupsWholeAndLetsThemWaitLonger() {
    var target = target(64, processors: 1)
    #expect(target.patience > .microseconds(999))
    target.recordIdle(.milliseconds(2))
    target.recordGroup(committedIn: .milliseconds(1), expected: 64)
    #expect(!target.isHalved)
    #expect(target.count == 64)
  }

  @Test func aSlowDiskKeepsGroupsWhole() {
    var target = GroupTarget(limit: 256, processors: 2)
    for _ in 0..<100 { target.recordGroup(committedIn: .milliseconds(20), expected: 64) }
    target.recordIdle(.milliseconds(5))
    target.recordGroup(committedIn: .milliseconds(20), expected: 64)
    #expect(!target.isHalved)
  }

  @Test func aSingleTaskMayTakeItsTime() {
    var target = target(1)
    #expect(target.isSingle)
    target.recordIdle(.seconds(5))
    target.recordGroup(committedIn: .milliseconds(1), expected: 51)
    #expect(!target.isHalved)
    #expect(target.count == 51)
  }

  @Test func aGroupThatCommittedNothingTellsNothingOfTheDisk() {
    var target = target(64)
    let patience = target.patience
    target.recordGroup(committedIn: nil, expected: 2)
    #expect(target.patience == patience)
    #expect(target.count == 2)
  }
}
