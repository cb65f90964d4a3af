/// Counts of values, by buckets of their size.
public struct Distribution: Sendable, Equatable {
  /// The highest value of each bucket but the last, ascending.
  public let bounds: [Double]
  /// The number of values in each bucket, not cumulated. The last bucket has no bound.
  public private(set) var counts: [UInt64]
  /// The sum of all values.
  public private(set) var sum: Double

  /// Makes a distribution of no values.
  ///
  /// - Parameter bounds: the highest value of each bucket but the last, ascending.
  public init(bounds: [Double]) {
    self.init(bounds: bounds, counts: Array(repeating: 0, count: bounds.count + 1), sum: 0)
  }

  /// Makes a distribution that was counted elsewhere.
  ///
  /// - Parameters:
  ///   - bounds: the highest value of each bucket but the last, ascending.
  ///   - counts: the number of values in each bucket: one more than there are bounds.
  ///   - sum: the sum of all values.
  public init(bounds: [Double], counts: [UInt64], sum: Double) {
    precondition(counts.count == bounds.count + 1, "a distribution has a bucket above its bounds")
    (self.bounds, self.counts, self.sum) = (bounds, counts, sum)
  }

  /// Counts a value.
  ///
  /// - Parameter value: the value.
  public mutating func record(_ value: Double) {
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
    sum += value
  }

  /// The number of values.
  public var count: UInt64 { counts.reduce(0, +) }

  /// Estimates the value that a share of all values does not exceed.
  ///
  /// Values are taken to be spread evenly in their bucket. One in the last bucket counts as that bucket's lower bound.
  ///
  /// - Parameter share: from 0 to 1.
  /// - Returns: the estimate, or nil if there are no values.
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

  /// Returns the values that were counted since an earlier moment.
  ///
  /// - Parameter earlier: the same distribution at that moment.
  public func since(_ earlier: Distribution) -> Distribution {
    guard earlier.bounds == bounds else { return self }
    return Distribution(
      bounds: bounds, counts: zip(counts, earlier.counts).map { $0 &- min($0, $1) },
      sum: sum - earlier.sum)
  }
}
