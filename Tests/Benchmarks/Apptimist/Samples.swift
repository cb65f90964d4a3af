/// The times of many events, in nanoseconds.
struct Samples {
  private var values: [UInt64] = []
  private var isSorted = false

  var count: Int { values.count }

  mutating func add(_ value: UInt64) {
    values.append(value)
    isSorted = false
  }

  /// Returns the time that a share of the events does not exceed, in milliseconds.
  mutating func quantile(_ share: Double) -> Double {
    guard !values.isEmpty else { return 0 }
    if !isSorted {
      values.sort()
      isSorted = true
    }
    return Double(values[min(values.count - 1, Int(share * Double(values.count)))]) / 1e6
  }
}
