internal import Platform

/// The registry of everything that is counted and measured in the process, rendered for Prometheus.
///
/// Counters and histograms are made once, when the counting part is set up. Recording takes no lock. A second request for
/// the same name and labels gives the same object.
public final class Metrics: Sendable {
  /// Names and values that tell the series of one metric apart.
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
  ///   - labels: the labels that tell it from others of the same name.
  public func counter(_ name: StaticString, _ help: String, _ labels: Labels = [:]) -> Counter {
    let counter = Counter()
    return register(name, help, labels, .total { Double(counter.value) }, readBy: counter)
  }

  /// Registers a number that only grows for each integer of a range. Those that are zero are not rendered.
  ///
  /// - Parameters:
  ///   - name: the name, `awd_…_total`.
  ///   - help: the title.
  ///   - labels: the labels that tell them from others of the same name.
  ///   - label: the label that holds the integer.
  ///   - range: the integers.
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
  ///   - help: the title.
  ///   - labels: the labels that tell it from others of the same name.
  ///   - read: returns the number, on any thread.
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
  ///   - help: the title.
  ///   - labels: the labels that tell it from others of the same name.
  ///   - read: returns the number, on any thread.
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
  ///   - help: the title.
  ///   - labels: the labels that tell it from others of the same name.
  ///   - bounds: the upper bounds of the buckets, ascending.
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
  ///   - help: the title.
  ///   - labels: the labels that tell it from others of the same name.
  ///   - read: returns the distribution, on any thread.
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
