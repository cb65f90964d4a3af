/// A digest of 32 bytes that one algorithm makes: those of different algorithms are different types.
public struct Digest256<Algorithm>: FixedBytes {
  var words = FourWords()

  /// Makes a digest of 32 zero bytes.
  public init() {}
}
