internal import COpenSSL

/// The hash that RFC 6455 asks a WebSocket handshake for; it protects nothing.
enum SHA1 {
  /// - Returns: 20 bytes.
  static func hash(_ bytes: [UInt8]) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { digest, count in
      var length: UInt32 = 0
      unsafe EVP_Digest(bytes, bytes.count, digest.baseAddress, &length, EVP_sha1(), nil)
      count = Int(length)
    }
  }
}
