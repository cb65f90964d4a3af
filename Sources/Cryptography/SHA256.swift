import CSodium

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
  /// Hashes a message.
  ///
  /// - Parameter message: any number of bytes.
  /// - Returns: 32 bytes.
  public static func hash(_ message: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    // It takes no memory and has no way to fail: the result is always 0.
    _ = unsafe crypto_hash_sha256(&digest, message, UInt64(message.count))
    return digest
  }
}
