extension Duration {
  /// The whole milliseconds of the duration, rounded towards zero; the largest or smallest number where they don't fit.
  public var milliseconds: Int64 { quotient(by: 30_517_578_125, shiftedBy: 15) }

  /// The whole nanoseconds of the duration, rounded towards zero; the largest or smallest number where they don't fit.
  public var nanoseconds: Int64 { quotient(by: 1_953_125, shiftedBy: 9) }

  /// Divides the attoseconds by `odd` times a power of two.
  ///
  /// Durations of up to three days for milliseconds, and of an hour for nanoseconds, have 64 bits after the shift, which are
  /// divided by a constant; 128 bits take some 200 instructions.
  @inline(__always)
  private func quotient(by odd: Int64, shiftedBy shift: Int128) -> Int64 {
    let shifted = attoseconds >> shift
    if shifted >= 0, let short = Int64(exactly: shifted) { return short / odd }
    return Int64(clamping: attoseconds / (Int128(odd) << shift))
  }
}
