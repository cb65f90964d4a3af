internal import COpenSSL

/// SHA-256 (FIPS 180-4); OpenSSL's, which uses the processor's instructions for it.
public enum SHA256 {
  /// Hashes a message.
  ///
  /// - Parameter message: any number of bytes.
  /// - Returns: 32 bytes.
  public static func hash(_ message: [UInt8]) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { digest, count in
      unsafe COpenSSL.SHA256(message, message.count, digest.baseAddress)
      count = Int(SHA256_DIGEST_LENGTH)
    }
  }
}
