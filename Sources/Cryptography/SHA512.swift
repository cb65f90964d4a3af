internal import COpenSSL

/// SHA-512 (FIPS 180-4), from OpenSSL, which takes two thirds of libsodium's time for a message of 1 KB.
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
    var digest = Digest()
    guard let context = unsafe EVP_MD_CTX_new() else {
      preconditionFailure("the system has no memory for a hash")
    }
    defer { unsafe EVP_MD_CTX_free(context) }
    var isDone = unsafe EVP_DigestInit_ex2(context, algorithm, nil)
    isDone &= unsafe EVP_DigestUpdate(context, head, head.count)
    isDone &= unsafe tail.withUnsafeBytes {
      unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count)
    }
    isDone &= unsafe digest.withMutablePointer { unsafe EVP_DigestFinal_ex(context, $0, nil) }
    precondition(isDone == 1, "OpenSSL has no SHA-512")
    return digest
  }

  /// Looked up once for the process, and never freed.
  private nonisolated(unsafe) static let algorithm: OpaquePointer? =
    // Safe to share: nothing changes it.
    unsafe EVP_MD_fetch(nil, "SHA512", nil)
}
