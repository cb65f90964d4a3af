internal import CSodium

/// SHA-512 (FIPS 180-4).
public enum SHA512 {
  /// A digest: 64 bytes.
  public struct Digest: FixedBytes {
    private var words = EightWords()

    /// Makes a digest of 64 zero bytes.
    public init() {}
  }

  /// Hashes a message that lies in two pieces, without joining them.
  ///
  /// - Parameters:
  ///   - head: any number of bytes.
  ///   - tail: the bytes behind them.
  public static func hash(_ head: [UInt8], _ tail: ArraySlice<UInt8> = []) -> Digest {
    var state = crypto_hash_sha512_state()
    var digest = Digest()
    // None of these has a way to fail.
    unsafe crypto_hash_sha512_init(&state)
    unsafe crypto_hash_sha512_update(&state, head, UInt64(head.count))
    _ = unsafe tail.withUnsafeBufferPointer {
      unsafe crypto_hash_sha512_update(&state, $0.baseAddress, UInt64($0.count))
    }
    _ = unsafe digest.withMutablePointer { unsafe crypto_hash_sha512_final(&state, $0) }
    return digest
  }
}
