internal import Platform
internal import Synchronization

/// The registry of everything that is counted and measured in the process, rendered for Prometheus.
///
/// Counters and histograms are made once, when the counting part is set up. Recording takes no lock. A second request for
/// the same name and labels gives the same object.
public final class Metrics: Sendable {
  /// Names and values that distinguish the series of one metric.
  public typealias Labels = KeyValuePairs<StaticString, String>

  private enum Source: Sendable {
    case table(CounterTable, label: StaticString)
    case gauge(@Sendable () -> Double)
    case total(@Sendable () -> Double)
    case distribution(@Sendable () -> Distribution)

    var type: String {
      switch self {
      case .table, .total: "counter"
      case .gauge: "gauge"
      case .distribution: "histogram"
      }
    }
  }

  private struct Family {
    let name: String
    let help: String
    let type: String
    /// The series in the order of registration.
    var series: [Registration] = []
  }

  private struct Registration {
    let pairs: [(name: String, value: String)]
    /// The rendered pairs.
    let labels: String
    let source: Source
    /// The value that whoever registered the series was given; `Void` if it is counted elsewhere.
    let handle: any Sendable
  }

  private let families = Lock<[String: Family]>([:])

  /// Makes an empty registry.
  public init() {}

  /// Registers a number that only grows.
  ///
  /// - Parameters:
  ///   - name: the name, `awd_…_total`.
  ///   - help: the title, such as “Committed writes”.
  ///   - labels: the labels that distinguish it from others of the same name.
  public func counter(_ name: StaticString, _ help: String, _ labels: Labels = [:]) -> Counter {
    let counter = Counter()
    return register(name, help, labels, .total { Double(counter.value) }, readBy: counter)
  }

  /// Registers a number that only grows for each integer of a range. Those that are zero are not rendered.
  ///
  /// - Parameters:
  ///   - name: the name, `awd_…_total`.
  ///   - labels: the labels that distinguish them from others of the same name.
  ///   - label: the label that holds the integer.
  public func counters(
    _ name: StaticString, _ help: String, _ labels: Labels = [:], by label: StaticString,
    _ range: ClosedRange<Int>
  ) -> CounterTable {
    let table = CounterTable(range)
    return register(name, help, labels, .table(table, label: label), readBy: table)
  }

  /// Registers a number that is read when the metrics are rendered.
  ///
  /// - Parameters:
  ///   - name: the name, with the unit at its end.
  ///   - labels: the labels that distinguish it from others of the same name.
  public func gauge(
    _ name: StaticString, _ help: String, _ labels: Labels = [:],
    read: @escaping @Sendable () -> Double
  ) {
    register(name, help, labels, .gauge(read), readBy: ())
  }

  /// Registers a number that only grows, is counted elsewhere, and is read when the metrics are rendered.
  ///
  /// - Parameters:
  ///   - name: the name, `awd_…_total`.
  ///   - labels: the labels that distinguish it from others of the same name.
  public func counter(
    _ name: StaticString, _ help: String, _ labels: Labels = [:],
    read: @escaping @Sendable () -> Double
  ) {
    register(name, help, labels, .total(read), readBy: ())
  }

  /// Registers a histogram of durations.
  ///
  /// - Parameters:
  ///   - name: the name, `awd_…_seconds`.
  ///   - labels: the labels that distinguish it from others of the same name.
  public func histogram(
    _ name: StaticString, _ help: String, _ labels: Labels = [:],
    bounds: [Duration] = Histogram.latencies
  ) -> Histogram {
    let histogram = Histogram(bounds: bounds)
    return register(
      name, help, labels, .distribution { histogram.distribution }, readBy: histogram)
  }

  /// Registers a distribution that is counted elsewhere, and is read when the metrics are rendered.
  ///
  /// - Parameters:
  ///   - name: the name, with the unit at its end.
  ///   - labels: the labels that distinguish it from others of the same name.
  public func histogram(
    _ name: StaticString, _ help: String, _ labels: Labels = [:],
    read: @escaping @Sendable () -> Distribution
  ) {
    register(name, help, labels, .distribution(read), readBy: ())
  }

  /// Returns all metrics as they are now, sorted by name.
  public func samples() -> [MetricSample] {
    let sorted = families.withLock { $0.values.sorted { $0.name < $1.name } }
    return sorted.flatMap { family in
      family.series.map { series in
        MetricSample(
          name: family.name, help: family.help, labels: series.pairs,
          value: Self.value(of: series.source))
      }
    }
  }

  private static func value(of source: Source) -> MetricSample.Value {
    switch source {
    case .table(let table, _): .total(Double(table.values.reduce(0) { $0 + $1.count }))
    case .gauge(let read): .level(read())
    case .total(let read): .total(read())
    case .distribution(let read): .distribution(read())
    }
  }

  /// Renders all metrics in Prometheus' text format 0.0.4, sorted by name.
  public func render() -> String {
    var text = ""
    let sorted = families.withLock { $0.values.sorted { $0.name < $1.name } }
    for family in sorted {
      let help = family.help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
      text += "# HELP \(family.name) \(help)\n# TYPE \(family.name) \(family.type)\n"
      for series in family.series {
        Self.render(family.name, series.labels, series.source, into: &text)
      }
    }
    return text
  }

  /// Adds a series, unless there is one with these labels.
  ///
  /// - Returns: the handle, or that of the series that is there.
  @discardableResult private func register<Handle: Sendable>(
    _ name: StaticString, _ help: String, _ labels: Labels, _ source: Source, readBy handle: Handle
  ) -> Handle {
    let key = "\(name)"
    let rendered = labels.map { "\($0.key)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
    return families.withLock { families in
      var family = families[key] ?? Family(name: key, help: help, type: source.type)
      let known = family.series.first { $0.labels == rendered }
      // Names are the program's own, so one name for two kinds is a programming error.
      guard source.type == family.type, let kept = (known?.handle ?? handle) as? Handle else {
        preconditionFailure("\(name) is already a metric of another kind")
      }
      if known == nil {
        family.series.append(
          Registration(
            pairs: labels.map { ("\($0.key)", $0.value) }, labels: rendered, source: source,
            handle: handle))
        families[key] = family
      }
      return kept
    }
  }

  private static func render(
    _ name: String, _ labels: String, _ source: Source, into text: inout String
  ) {
    func line(_ suffix: String, _ extra: String, _ value: String) {
      let all = [labels, extra].filter { !$0.isEmpty }.joined(separator: ",")
      text += all.isEmpty ? "\(name)\(suffix) \(value)\n" : "\(name)\(suffix){\(all)} \(value)\n"
    }
    switch source {
    case .table(let table, let label):
      for (key, count) in table.values { line("", "\(label)=\"\(key)\"", String(count)) }
    case .gauge(let read), .total(let read): line("", "", number(read()))
    case .distribution(let read): render(read())
    }
    func render(_ distribution: Distribution) {
      var total: UInt64 = 0
      for (count, bound) in zip(distribution.counts, distribution.bounds) {
        total += count
        line("_bucket", "le=\"\(number(bound))\"", String(total))
      }
      total += distribution.counts.last ?? 0
      line("_bucket", "le=\"+Inf\"", String(total))
      line("_sum", "", number(distribution.sum))
      line("_count", "", String(total))
    }
  }

  private static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    return Int64(exactly: value).map(String.init) ?? String(value)
  }

  private static func escaped(_ value: String) -> String {
    value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }
}

/// A number that only grows, and that any thread may add to.
public final class Counter: Sendable {
  private let count = Atomic<UInt64>(0)

  /// Adds to the count.
  public func add(_ amount: UInt64 = 1) { count.wrappingAdd(amount, ordering: .relaxed) }

  /// The count so far.
  public var value: UInt64 { count.load(ordering: .relaxed) }
}

/// A counter for each number of a range, such as for each status of responses.
@safe public final class CounterTable: @unchecked Sendable {
  // Safe to share: the memory lives as long as the object, and only atomics stand in it.
  private let counts: UnsafeMutableBufferPointer<Atomic<UInt64>>
  private let range: ClosedRange<Int>

  init(_ range: ClosedRange<Int>) {
    self.range = range
    unsafe counts = .allocate(capacity: range.count)
    for index in 0..<range.count { unsafe counts.initializeElement(at: index, to: Atomic(0)) }
  }

  deinit {
    unsafe counts.deinitialize()
    unsafe counts.deallocate()
  }

  /// Adds one to a number's count.
  public func add(_ number: Int) {
    guard range.contains(number) else { return }
    unsafe counts[number - range.lowerBound].wrappingAdd(1, ordering: .relaxed)
  }

  /// The counts that are not zero.
  public var values: [(number: Int, count: UInt64)] {
    range.compactMap { number in
      let count = unsafe counts[number - range.lowerBound].load(ordering: .relaxed)
      return count == 0 ? nil : (number, count)
    }
  }
}

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
  public init(bounds: [Double], counts: [UInt64], sum: Double) {
    precondition(counts.count == bounds.count + 1, "a distribution has a bucket above its bounds")
    self.bounds = bounds
    self.counts = counts
    self.sum = sum
  }

  /// Counts a value.
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

/// A metric at one moment.
public struct MetricSample: Sendable {
  /// The value of a metric.
  public enum Value: Sendable {
    /// A number that goes up and down.
    case level(Double)
    /// A number that only grows.
    case total(Double)
    /// Values by buckets.
    case distribution(Distribution)
  }

  /// The name, with the unit at its end.
  public let name: String
  /// The title.
  public let help: String
  /// The labels that distinguish it from others of the same name.
  public let labels: [(name: String, value: String)]
  /// The value.
  public let value: Value
}
