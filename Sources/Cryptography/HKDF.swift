internal import COpenSSL

/// HKDF with SHA-256 (RFC 5869), extract and expand.
public enum HKDF {
  /// Derives a key.
  ///
  /// - Parameters:
  ///   - secret: the input keying material.
  ///   - salt: the salt.
  ///   - info: the context.
  ///   - count: the length of the key in bytes, up to 8,160.
  /// - Returns: the key, or nil if OpenSSL fails.
  public static func derive(
    from secret: [UInt8], salt: [UInt8], info: [UInt8], count: Int
  ) -> [UInt8]? {
    defer { ERR_clear_error() }
    let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nil)
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var key = [UInt8](repeating: 0, count: count)
    var length = count
    guard unsafe EVP_PKEY_derive_init(context) == 1,
      unsafe EVP_PKEY_CTX_set_hkdf_md(context, EVP_sha256()) == 1,
      unsafe EVP_PKEY_CTX_set1_hkdf_salt(context, salt, CInt(clamping: salt.count)) == 1,
      unsafe EVP_PKEY_CTX_set1_hkdf_key(context, secret, CInt(clamping: secret.count)) == 1,
      unsafe EVP_PKEY_CTX_add1_hkdf_info(context, info, CInt(clamping: info.count)) == 1,
      unsafe EVP_PKEY_derive(context, &key, &length) == 1, length == count
    else { return nil }
    return key
  }
}
