/// A detached Ed25519 signature (RFC 8032): 64 bytes.
public struct Signature: FixedBytes {
  private var words = EightWords()

  /// Makes a signature of 64 zero bytes, which is valid over nothing.
  public init() {}
}
