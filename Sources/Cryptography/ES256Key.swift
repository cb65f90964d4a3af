internal import COpenSSL

/// A private key on the curve P-256 that signs JSON Web Tokens (ES256, RFC 7518 section 3.4).
public struct ES256Key: Sendable {
  private let key: EVPKey

  /// A text holds no key on P-256, or an encrypted one.
  public struct Unreadable: Error {}

  /// Reads a key.
  ///
  /// - Parameter pem: a PKCS #8 key without a password in PEM, as in Apple's `.p8` files.
  /// - Throws: ``Unreadable`` for anything else.
  public init(pem: [UInt8]) throws(Unreadable) {
    guard let key = try? PEM.privateKey(in: pem), key.group == "prime256v1" else {
      throw Unreadable()
    }
    self.key = key
  }

  /// Signs a message with ECDSA and SHA-256.
  ///
  /// - Parameter message: any number of bytes.
  /// - Returns: R and S, 32 bytes each, big-endian; nil if OpenSSL fails.
  public func sign(_ message: [UInt8]) -> [UInt8]? {
    defer { ERR_clear_error() }
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    var encoded = [UInt8](repeating: 0, count: 80)
    var length = encoded.count
    guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key.pointer) == 1,
      unsafe EVP_DigestSign(context, &encoded, &length, message, message.count) == 1
    else { return nil }
    // OpenSSL writes ASN.1; JSON Web Signatures take the two numbers.
    let signature = unsafe encoded.withUnsafeBufferPointer { encoded in
      var start = encoded.baseAddress
      return unsafe d2i_ECDSA_SIG(nil, &start, length)
    }
    guard let signature = unsafe signature else { return nil }
    defer { unsafe ECDSA_SIG_free(signature) }
    var numbers = [UInt8](repeating: 0, count: 64)
    let isWritten = unsafe numbers.withUnsafeMutableBufferPointer { numbers in
      guard let start = numbers.baseAddress else { return false }
      let r = unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), start, 32)
      let s = unsafe BN_bn2binpad(ECDSA_SIG_get0_s(signature), start + 32, 32)
      return r == 32 && s == 32
    }
    return isWritten ? numbers : nil
  }
}
