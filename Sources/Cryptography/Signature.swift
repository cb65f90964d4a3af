/// A detached Ed25519 signature (RFC 8032): 64 bytes.
public struct Signature: FixedBytes {
  private var first: UInt64 = 0
  private var second: UInt64 = 0
  private var third: UInt64 = 0
  private var fourth: UInt64 = 0
  private var fifth: UInt64 = 0
  private var sixth: UInt64 = 0
  private var seventh: UInt64 = 0
  private var eighth: UInt64 = 0

  /// Makes a signature of 64 zero bytes, which is valid over nothing.
  public init() {}
}
