/// 32 bytes that lie inline.
struct FourWords: FixedBytes {
  var first: UInt64 = 0
  var second: UInt64 = 0
  var third: UInt64 = 0
  var fourth: UInt64 = 0

  /// The point that the bytes of a key of Curve25519 stand for, whose highest bit is no part of it.
  var point: FourWords {
    var point = self
    point.fourth = (fourth.bigEndian & ~0x80).bigEndian
    return point
  }

  /// Returns the points of low order that are written alike on both forms of the curve, and those of one form.
  static func lowOrder(and others: String...) -> Set<FourWords> {
    let zeros = String(repeating: "0", count: 62)
    let ones = String(repeating: "f", count: 60) + "7f"
    let common = ["00\(zeros)", "01\(zeros)", "ec\(ones)", "ed\(ones)", "ee\(ones)"]
    return Set((common + others).compactMap { FourWords(hex: $0) })
  }
}

/// 64 bytes that lie inline.
struct EightWords: BitwiseCopyable, Hashable, Sendable {
  private var low = FourWords()
  private var high = FourWords()
}
