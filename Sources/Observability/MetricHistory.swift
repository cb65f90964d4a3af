internal import Platform

/// The metrics of the last minutes, at even intervals.
public final class MetricHistory: Sendable {
  /// The course of one metric.
  public struct Series: Sendable {
    /// The meaning of the values.
    public enum Kind: Sendable {
      /// A number that goes up and down.
      case level
      /// The growth of a number in a second.
      case rate
      /// The value that 99 of 100 values of an interval did not exceed.
      case quantile
    }

    /// The metric's name.
    public let name: String
    /// The metric's title.
    public let help: String
    /// The labels that distinguish the series from others of the same name.
    public let labels: [(name: String, value: String)]
    /// The meaning of the values.
    public let kind: Kind
    /// The values, oldest first. Nil stands for a missing one.
    public fileprivate(set) var values: [Double?] = []
    /// The number since the start, or nil for a level.
    public fileprivate(set) var total: Double?
    /// The distribution of all values since the oldest interval.
    public fileprivate(set) var distribution: Distribution?
  }

  private struct Track {
    var series: Series
    /// The distributions at each moment, oldest first.
    var distributions: [Distribution] = []
  }

  private struct State {
    var order: [String] = []
    var tracks: [String: Track] = [:]
  }

  private let interval: Duration
  private let capacity: Int
  private let summed: Set<String>
  private let state = Lock(State())

  /// Makes an empty history.
  ///
  /// - Parameters:
  ///   - interval: the time between two calls of ``record(_:)``.
  ///   - capacity: the number of values of each metric that are kept.
  ///   - summed: the labels that don't distinguish series: series that differ in these only are added up.
  public init(interval: Duration, capacity: Int, summingOver summed: Set<String>) {
    self.interval = interval
    self.capacity = capacity
    self.summed = summed
  }

  /// The course of each metric, in the order of names.
  public var series: [Series] {
    state.withLock { state in state.order.compactMap { state.tracks[$0]?.series } }
  }

  /// Records the metrics of one moment.
  ///
  /// - Parameter samples: all metrics at that moment.
  public func record(_ samples: [MetricSample]) {
    var sums: [(key: String, sample: MetricSample)] = []
    var places: [String: Int] = [:]
    for sample in samples {
      let labels = sample.labels.filter { !summed.contains($0.name) }
      let key = sample.name + labels.map { "\u{0}\($0.name)=\($0.value)" }.joined()
      if let place = places[key] {
        sums[place].sample = Self.sum(sums[place].sample, sample, labels)
      } else {
        places[key] = sums.count
        sums.append(
          (
            key,
            MetricSample(name: sample.name, help: sample.help, labels: labels, value: sample.value)
          ))
      }
    }
    state.withLock { state in
      state.order = sums.map(\.key)
      for (key, sample) in sums { record(sample, in: &state.tracks[key]) }
    }
  }

  private static func sum(
    _ first: MetricSample, _ second: MetricSample, _ labels: [(name: String, value: String)]
  ) -> MetricSample {
    let value: MetricSample.Value =
      switch (first.value, second.value) {
      case (.level(let one), .level(let other)): .level(one + other)
      case (.total(let one), .total(let other)): .total(one + other)
      case (.distribution(let one), .distribution(let other)) where one.bounds == other.bounds:
        .distribution(
          Distribution(
            bounds: one.bounds, counts: zip(one.counts, other.counts).map(&+),
            sum: one.sum + other.sum))
      default: first.value
      }
    return MetricSample(name: first.name, help: first.help, labels: labels, value: value)
  }

  private func record(_ sample: MetricSample, in track: inout Track?) {
    let kind: Series.Kind =
      switch sample.value {
      case .level: .level
      case .total: .rate
      case .distribution: .quantile
      }
    let new = Series(name: sample.name, help: sample.help, labels: sample.labels, kind: kind)
    var now = track ?? Track(series: new)
    switch sample.value {
    case .level(let value): append(value, to: &now.series.values)
    case .total(let value):
      // The first moment has nothing to be compared with.
      if let before = now.series.total {
        append(max(0, value - before) / (interval / .seconds(1)), to: &now.series.values)
      }
      now.series.total = value
    case .distribution(let value):
      if let before = now.distributions.last {
        append(value.since(before).quantile(0.99), to: &now.series.values)
      }
      now.distributions.append(value)
      if now.distributions.count > capacity + 1 { now.distributions.removeFirst() }
      now.series.distribution = now.distributions.first.map { value.since($0) }
      now.series.total = Double(value.count)
    }
    track = now
  }

  private func append(_ value: Double?, to values: inout [Double?]) {
    values.append(value)
    if values.count > capacity { values.removeFirst() }
  }
}
