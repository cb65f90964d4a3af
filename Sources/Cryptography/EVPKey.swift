internal import COpenSSL

/// A key of OpenSSL's, freed with its last reference.
@safe package final class EVPKey: Sendable {
  // Safe to share: changed in init only, and OpenSSL locks what it caches in it.
  /// The key, an `EVP_PKEY`.
  package nonisolated(unsafe) let pointer: OpaquePointer

  /// Takes over a reference, or returns nil if there is none.
  package init?(adopting pointer: OpaquePointer?) {
    guard let pointer = unsafe pointer else { return nil }
    unsafe self.pointer = pointer
    guard unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_EC else { return }
    // Points are read uncompressed, whichever form they came in.
    unsafe EVP_PKEY_set_utf8_string_param(
      pointer, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
      OSSL_PKEY_EC_POINT_CONVERSION_FORMAT_UNCOMPRESSED)
  }

  deinit { unsafe EVP_PKEY_free(pointer) }

  /// OpenSSL's name of the key's curve, or nil if the key is on none.
  package var group: String? {
    var name = [CChar](repeating: 0, count: 80)
    guard unsafe EVP_PKEY_get_group_name(pointer, &name, name.count, nil) == 1 else { return nil }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Returns one of the key's numbers, big-endian.
  ///
  /// - Parameters:
  ///   - name: OpenSSL's name of the number.
  ///   - length: the bytes that it fills, or nil for as many as it has.
  /// - Returns: nil if keys of this kind have no such number, or OpenSSL fails.
  package func number(_ name: String, length: Int? = nil) -> [UInt8]? {
    defer { ERR_clear_error() }
    var number: OpaquePointer?
    guard unsafe EVP_PKEY_get_bn_param(pointer, name, &number) == 1 else { return nil }
    defer { unsafe BN_clear_free(number) }
    let length = unsafe length ?? (Int(BN_num_bits(number)) + 7) / 8
    var bytes = [UInt8](repeating: 0, count: length)
    return unsafe BN_bn2binpad(number, &bytes, CInt(length)) == length ? bytes : nil
  }

  /// Signs a digest with ECDSA.
  ///
  /// - Parameters:
  ///   - digest: the digest of a message, not longer than the curve's numbers.
  ///   - size: the length of such a number, in bytes.
  /// - Returns: R and S, `size` bytes each, big-endian; nil if OpenSSL fails.
  package func ecdsaSignature(of digest: [UInt8], size: Int) -> [UInt8]? {
    defer { ERR_clear_error() }
    guard let context = unsafe EVP_PKEY_CTX_new(pointer, nil) else { return nil }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var encoded = [UInt8](repeating: 0, count: 2 * size + 16)
    var length = encoded.count
    guard unsafe EVP_PKEY_sign_init(context) == 1,
      unsafe EVP_PKEY_sign(context, &encoded, &length, digest, digest.count) == 1
    else { return nil }
    // OpenSSL writes ASN.1.
    let signature = unsafe encoded.withUnsafeBufferPointer { encoded in
      var start = encoded.baseAddress
      return unsafe d2i_ECDSA_SIG(nil, &start, length)
    }
    guard let signature = unsafe signature else { return nil }
    defer { unsafe ECDSA_SIG_free(signature) }
    var numbers = [UInt8](repeating: 0, count: 2 * size)
    let isWritten = unsafe numbers.withUnsafeMutableBufferPointer { numbers in
      guard let start = numbers.baseAddress else { return false }
      let r = unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), start, Int32(size))
      let s = unsafe BN_bn2binpad(ECDSA_SIG_get0_s(signature), start + size, Int32(size))
      return r == Int32(size) && s == Int32(size)
    }
    return isWritten ? numbers : nil
  }
}
