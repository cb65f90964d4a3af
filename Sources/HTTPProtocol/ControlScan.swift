/// Finds control characters eight bytes at a time.
enum ControlScan {
  /// The position of the first byte below 0x20 or equal to 0x7f, tab included, or `end`.
  static func first(in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Int {
    var index = start
    while index + 8 <= end {
      let word = UInt64(
        littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      // A borrow can mark only bytes above one that is rightly marked, so the lowest mark is right.
      let below = (word &- 0x2020_2020_2020_2020) & ~word
      let other = word ^ 0x7f7f_7f7f_7f7f_7f7f
      let delete = (other &- 0x0101_0101_0101_0101) & ~other
      let marks = (below | delete) & 0x8080_8080_8080_8080
      if marks != 0 { return index + marks.trailingZeroBitCount >> 3 }
      index += 8
    }
    while index < end {
      let byte = unsafe bytes[index]
      if byte < 0x20 || byte == 0x7f { return index }
      index += 1
    }
    return end
  }
}
