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
}

/// 64 bytes that lie inline.
struct EightWords: BitwiseCopyable, Hashable, Sendable {
  private var low = FourWords()
  private var high = FourWords()
}
