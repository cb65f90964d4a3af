internal import COpenSSL
internal import Configuration

/// A private key on the curve P-256, for ES256 (RFC 7518 section 3.4).
@safe final class SigningKey: @unchecked Sendable {
  // Safe to share: OpenSSL doesn't change a key that is only used to sign.

  /// A key can't be read.
  struct Unreadable: Error {}

  /// The longest file of a key, in bytes.
  private static let sizeLimit = 64 << 10

  private let key: OpaquePointer

  /// Reads a key from a file; blocks on the disk.
  ///
  /// - Parameter path: the file, as ``init(pem:)`` takes it.
  /// - Throws: ``PushSetupError`` that names the file and what is wrong with it.
  convenience init(file path: String) throws(PushSetupError) {
    let pem: [UInt8]
    do throws(FileError) {
      pem = try contents(ofFile: path, limit: Self.sizeLimit)
    } catch {
      throw PushSetupError(message: "\(path): \(error.message)")
    }
    do throws(Unreadable) {
      try self.init(pem: pem)
    } catch {
      throw PushSetupError(message: "\(path): no PEM key on P-256 without a password")
    }
  }

  /// Reads a key.
  ///
  /// - Parameter pem: a PKCS #8 key without a password, as PEM: what Apple calls a `.p8` file.
  /// - Throws: ``Unreadable`` for anything else.
  init(pem: [UInt8]) throws(Unreadable) {
    ERR_clear_error()
    let key = unsafe pem.withUnsafeBytes { bytes -> OpaquePointer? in
      guard let bio = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else {
        return nil
      }
      defer { unsafe BIO_free(bio) }
      // Without a function of ours OpenSSL would ask on the terminal for a password.
      return unsafe PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
    }
    guard let key = unsafe key else { throw Unreadable() }
    unsafe self.key = unsafe key
    var name = [CChar](repeating: 0, count: 32)
    var length = 0
    guard unsafe EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1,
      name.prefix(length).elementsEqual("prime256v1".utf8.map(CChar.init))
    else { throw Unreadable() }
  }

  deinit { unsafe EVP_PKEY_free(key) }

  /// Signs a message with ECDSA and SHA-256.
  ///
  /// - Parameter message: what is signed.
  /// - Returns: R and S, 32 bytes each, big-endian; nil if OpenSSL fails.
  func signature(of message: [UInt8]) -> [UInt8]? {
    ERR_clear_error()
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    var encoded = [UInt8](repeating: 0, count: 80)
    var length = encoded.count
    guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
      unsafe EVP_DigestSign(context, &encoded, &length, message, message.count) == 1
    else { return nil }
    // OpenSSL gives ASN.1; JSON Web Signatures take the two numbers.
    let signature = unsafe encoded.withUnsafeBufferPointer { encoded in
      var start = encoded.baseAddress
      return unsafe d2i_ECDSA_SIG(nil, &start, length)
    }
    defer { unsafe ECDSA_SIG_free(signature) }
    var numbers = [UInt8](repeating: 0, count: 64)
    let isWhole = unsafe numbers.withUnsafeMutableBufferPointer { numbers in
      guard let start = numbers.baseAddress else { return false }
      let first = unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), start, 32)
      let second = unsafe BN_bn2binpad(ECDSA_SIG_get0_s(signature), start + 32, 32)
      return first == 32 && second == 32
    }
    return isWhole ? numbers : nil
  }
}
