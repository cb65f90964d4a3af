internal import COpenSSL

/// A PEM text as OpenSSL reads it.
enum PEMSource {
  /// Calls a closure with a source that is valid meanwhile: it reads from the text itself, not from a copy.
  static func withSource<Result>(
    _ pem: [UInt8], _ body: (OpaquePointer?) -> Result
  ) -> Result {
    unsafe pem.withUnsafeBytes { bytes in
      let source = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
      defer { unsafe BIO_free(source) }
      return unsafe body(source)
    }
  }
}
