/// Decides how many jobs share the next commit.
///
/// The tasks that wait for one commit often write again at once, so that a group waits a little for all that are expected.
/// But if all of them share a commit, the writer has nothing to do until they have been answered and are back. With two
/// groups in turn, the tasks of one are answered while the other is written and on its way to the disk. That takes a second
/// commit, which pays if it takes less than the time without work.
///
/// With one processor the writer has nothing to do as long as others use that. Each further commit takes from them, so that
/// groups stay whole, and wait longer for those who are expected.
struct GroupTarget {
  /// The number of smaller groups after which all expected tasks are tried in one again.
  private static let halvedGroups = 64

  /// The largest number of jobs in a group.
  let limit: Int
  private let hasOneProcessor: Bool
  /// The number of tasks that may write next: those of the last group, and those that were queued behind it.
  private var expected = 1
  /// The smoothed duration of a commit.
  private var commitCost = Duration.zero
  /// The time for which the writer has waited for jobs since the last group.
  private var idle = Duration.zero
  private var halvedGroupsLeft = 0

  /// - Parameters:
  ///   - limit: the largest number of jobs in a group.
  ///   - processors: the number of processors that the writer and the tasks share.
  init(limit: Int, processors: Int) {
    self.limit = limit
    hasOneProcessor = processors == 1
  }

  /// True if one task writes, and no other is expected.
  var isSingle: Bool { expected == 1 }

  /// True if a group takes half of the expected tasks.
  var isHalved: Bool { halvedGroupsLeft > 0 }

  /// The number of jobs that a group waits for.
  var count: Int { min(isHalved ? (expected + 1) / 2 : expected, limit) }

  /// The number of jobs at which a group takes no more, even if others wait.
  var most: Int { isHalved ? count : limit }

  /// The longest time to wait for further jobs of a group.
  var patience: Duration { hasOneProcessor ? commitCost : commitCost / 4 }

  /// Takes note of the time for which the writer has waited for jobs.
  mutating func noteIdle(_ duration: Duration) {
    // A single task prepares its next job when it has been answered, however it is committed.
    if !isSingle, !hasOneProcessor { idle += duration }
  }

  /// Takes note of the end of a group.
  ///
  /// - Parameters:
  ///   - duration: the duration of the commit, or nil if nothing was committed.
  ///   - expected: the number of jobs that ran, and of those that are queued by now.
  mutating func noteGroup(committedIn duration: Duration?, expected: Int) {
    if let duration { commitCost = (commitCost * 7 + duration) / 8 }
    halvedGroupsLeft = idle > commitCost ? Self.halvedGroups : max(halvedGroupsLeft - 1, 0)
    idle = .zero
    self.expected = expected
  }
}
