/// Finds bytes of a kind, eight at a time.
enum ByteScan {
  /// The position of the first byte below 0x20 or equal to 0x7f, tab included, or `end`.
  static func firstControl(in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Int {
    unsafe first(in: bytes, from: start, to: end) { below(0x20, $0) | equal(0x7f, $0) }
  }

  /// The position of the first byte that no target has, or of the first `?`, or `end`.
  static func firstTargetStop(
    in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int
  ) -> Int {
    unsafe first(in: bytes, from: start, to: end) {
      below(0x21, $0) | equal(UInt8(ascii: "#"), $0) | equal(UInt8(ascii: "?"), $0)
        | equal(0x7f, $0) | $0
    }
  }

  /// Looks for the first byte that a closure marks with its highest bit in a word.
  ///
  /// A subtraction's borrow can mark only bytes above one that is rightly marked, so the lowest mark
  /// is right. A word that is not whole is filled with the letter `x`, which nothing marks.
  @inline(__always)
  private static func first(
    in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int, _ marks: (UInt64) -> UInt64
  ) -> Int {
    var index = start
    while index + 8 <= end {
      let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let found = marks(UInt64(littleEndian: word)) & 0x8080_8080_8080_8080
      if found != 0 { return index + found.trailingZeroBitCount >> 3 }
      index += 8
    }
    var word = repeated(UInt8(ascii: "x"))
    var last = end
    while last > index {
      last -= 1
      word = word << 8 | UInt64(unsafe bytes[last])
    }
    let found = marks(word) & 0x8080_8080_8080_8080
    return found == 0 ? end : index + found.trailingZeroBitCount >> 3
  }

  private static func repeated(_ byte: UInt8) -> UInt64 { UInt64(byte) &* 0x0101_0101_0101_0101 }

  private static func below(_ bound: UInt8, _ word: UInt64) -> UInt64 {
    (word &- repeated(bound)) & ~word
  }

  private static func equal(_ byte: UInt8, _ word: UInt64) -> UInt64 {
    below(1, word ^ repeated(byte))
  }
}
