internal import COpenSSL

/// AES with 128-bit keys in Galois/Counter mode (NIST SP 800-38D).
public enum AES128GCM {
  /// The length of a key, in bytes.
  public static let keyLength = 16
  /// The length of a nonce, in bytes.
  public static let nonceLength = 12
  /// The bytes by which a sealed message is longer.
  public static let tagLength = 16

  /// Seals a message.
  ///
  /// - Parameters:
  ///   - key: ``keyLength`` bytes.
  ///   - nonce: ``nonceLength`` bytes, never used twice with a key.
  /// - Returns: the sealed message with the tag behind it; nil if a length is wrong or OpenSSL fails.
  public static func seal(_ message: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
    guard key.count == keyLength, nonce.count == nonceLength else { return nil }
    defer { ERR_clear_error() }
    let context = unsafe EVP_CIPHER_CTX_new()
    defer { unsafe EVP_CIPHER_CTX_free(context) }
    var sealed = [UInt8](repeating: 0, count: message.count)
    var tag = [UInt8](repeating: 0, count: tagLength)
    var length: CInt = 0
    var last: CInt = 0
    guard unsafe EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
      unsafe EVP_EncryptUpdate(
        context, &sealed, &length, message, CInt(clamping: message.count)) == 1,
      Int(length) == message.count,
      // The mode gives its last bytes at once: nothing is written here.
      unsafe EVP_EncryptFinal_ex(context, &tag, &last) == 1, last == 0,
      unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CInt(tagLength), &tag) == 1
    else { return nil }
    return sealed + tag
  }
}
