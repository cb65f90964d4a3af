/// Counts of values by size.
public struct Distribution: Sendable, Equatable {
  /// The highest value of each bucket but the last, ascending.
  public let bounds: [Double]
  /// How many values fell into each bucket, not cumulated; the last has no bound.
  public let counts: [UInt64]
  /// The sum of all values.
  public let sum: Double

  /// A distribution.
  ///
  /// - Parameters:
  ///   - bounds: the highest value of each bucket but the last, ascending.
  ///   - counts: how many values fell into each bucket: one more than there are bounds.
  ///   - sum: the sum of all values.
  public init(bounds: [Double], counts: [UInt64], sum: Double) {
    precondition(counts.count == bounds.count + 1, "a distribution has a bucket above its bounds")
    self.bounds = bounds
    self.counts = counts
    self.sum = sum
  }

  /// How many values there were.
  public var count: UInt64 { counts.reduce(0, +) }

  /// The value that a share of all values does not exceed, as far as the buckets tell: one in the
  /// last bucket counts as its lower bound.
  ///
  /// - Parameter share: from 0 to 1.
  /// - Returns: nil if there were no values.
  public func quantile(_ share: Double) -> Double? {
    let rank = share * Double(count)
    guard count > 0, let highest = bounds.last else { return nil }
    var below = 0.0
    for (index, bound) in bounds.enumerated() {
      let inside = Double(counts[index])
      if inside > 0, below + inside >= rank {
        let lower = index == 0 ? 0 : bounds[index - 1]
        return lower + (bound - lower) * (rank - below) / inside
      }
      below += inside
    }
    return highest
  }

  /// What came since an earlier moment.
  ///
  /// - Parameter earlier: the same distribution then.
  public func since(_ earlier: Distribution) -> Distribution {
    guard earlier.bounds == bounds else { return self }
    return Distribution(
      bounds: bounds, counts: zip(counts, earlier.counts).map { $0 &- min($0, $1) },
      sum: sum - earlier.sum)
  }
}
