internal import COpenSSL

/// SHA-256 (FIPS 180-4), from OpenSSL, which uses the processor's instructions for it.
public enum SHA256 {
  /// A digest: 32 bytes.
  public typealias Digest = Digest256<SHA256>

  /// Hashes a message.
  ///
  /// - Parameter message: any number of bytes.
  public static func hash(_ message: [UInt8]) -> Digest { unsafe hash(message.span.bytes) }

  /// Hashes a message.
  ///
  /// - Parameter message: any number of bytes.
  public static func hash(_ message: RawSpan) -> Digest {
    var digest = Digest()
    unsafe message.withUnsafeBytes { message in
      unsafe digest.withMutablePointer {
        _ = unsafe COpenSSL.SHA256(message.baseAddress, message.count, $0)
      }
    }
    return digest
  }
}
