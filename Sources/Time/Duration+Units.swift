extension Duration {
  /// The whole milliseconds of the duration, rounded towards zero; the largest or smallest number where they don't fit.
  public var milliseconds: Int64 { whole(perSecond: 1000) }

  /// The whole nanoseconds of the duration, rounded towards zero; the largest or smallest number where they don't fit.
  public var nanoseconds: Int64 { whole(perSecond: 1_000_000_000) }

  private func whole(perSecond units: Int64) -> Int64 {
    let (seconds, attoseconds) = components
    let (product, isTooLarge) = seconds.multipliedReportingOverflow(by: units)
    let (sum, overflows) = product.addingReportingOverflow(
      attoseconds / (1_000_000_000_000_000_000 / units))
    guard isTooLarge || overflows else { return sum }
    return seconds < 0 ? .min : .max
  }
}
