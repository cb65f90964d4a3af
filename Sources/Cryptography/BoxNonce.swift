/// The nonce of a box: 24 bytes that are never used twice with one key.
public struct BoxNonce: FixedBytes {
  private var first: UInt64 = 0
  private var second: UInt64 = 0
  private var third: UInt64 = 0

  /// Makes a nonce of 24 zero bytes.
  public init() {}

  /// Makes a nonce of the first 24 bytes of a signature.
  public init(prefixOf signature: Signature) {
    self = unsafe Swift.withUnsafeBytes(of: signature) { unsafe $0.load(as: BoxNonce.self) }
  }

  /// Makes a nonce of a counter behind 16 zero bytes.
  ///
  /// - Parameter counter: the value of the last eight bytes, big-endian.
  public init(counter: UInt64) { third = counter.bigEndian }

  /// Returns the same nonce with other bytes at its end.
  ///
  /// - Parameter counter: the value of the last two bytes, big-endian.
  public func ending(in counter: UInt16) -> BoxNonce {
    var nonce = self
    nonce.third = (third.bigEndian & ~0xffff | UInt64(counter)).bigEndian
    return nonce
  }
}
