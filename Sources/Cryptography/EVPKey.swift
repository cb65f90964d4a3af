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
}
