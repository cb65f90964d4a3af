internal import COpenSSL

/// SHA-1 (FIPS 180-4), for the handshake of WebSockets (RFC 6455). It protects nothing.
public enum SHA1 {
  /// Hashes a message.
  ///
  /// - Parameter message: any number of bytes.
  /// - Returns: 20 bytes.
  public static func hash(_ message: [UInt8]) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: Int(SHA_DIGEST_LENGTH)) { digest, count in
      unsafe COpenSSL.SHA1(message, message.count, digest.baseAddress)
      count = Int(SHA_DIGEST_LENGTH)
    }
  }
}
