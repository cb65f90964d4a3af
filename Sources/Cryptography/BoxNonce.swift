/// What makes two boxes under one key differ: 24 bytes that are never used twice with it.
public struct BoxNonce: FixedBytes {
  private var first: UInt64 = 0
  private var second: UInt64 = 0
  private var third: UInt64 = 0

  /// 24 zero bytes.
  public init() {}

  /// The first 24 bytes of a signature.
  public init(prefixOf signature: Signature) {
    self = unsafe Swift.withUnsafeBytes(of: signature) { unsafe $0.load(as: BoxNonce.self) }
  }

  /// The same nonce with other bytes at its end.
  ///
  /// - Parameter counter: written big-endian over the last two bytes.
  public func ending(in counter: UInt16) -> BoxNonce {
    var nonce = self
    nonce.third = (third.bigEndian & ~0xffff | UInt64(counter)).bigEndian
    return nonce
  }
}
