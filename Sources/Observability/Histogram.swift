internal import Platform

/// A count of durations by buckets, which any thread may add to.
public final class Histogram: Sendable {
  /// Upper bounds from a tenth of a millisecond to ten seconds.
  public static let latencies: [Duration] = [
    .microseconds(100), .microseconds(250), .microseconds(500), .milliseconds(1),
    .microseconds(2500), .milliseconds(5), .milliseconds(10), .milliseconds(25), .milliseconds(50),
    .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1), .milliseconds(2500),
    .seconds(5), .seconds(10),
  ]

  /// The upper bounds of all buckets but the last, ascending.
  let bounds: [Duration]
  private let counts: [Counter]
  private let nanoseconds = Counter()

  init(bounds: [Duration]) {
    precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "bounds of a histogram ascend")
    self.bounds = bounds
    counts = (0...bounds.count).map { _ in Counter() }
  }

  /// Records a duration.
  ///
  /// - Parameter duration: the duration. A negative one counts as zero.
  public func observe(_ duration: Duration) {
    let bucket = bounds.firstIndex { duration <= $0 } ?? bounds.count
    counts[bucket].add()
    nanoseconds.add(UInt64(clamping: duration.nanoseconds))
  }

  /// The recorded durations, in seconds.
  var distribution: Distribution {
    Distribution(
      bounds: bounds.map { $0 / .seconds(1) }, counts: counts.map(\.value),
      sum: Double(nanoseconds.value) / 1e9)
  }
}
