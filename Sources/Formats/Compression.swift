internal import CBrotli
internal import CZlib

/// Compresses whole contents thoroughly rather than quickly, for contents with many readers.
///
/// The result depends only on the bytes and on ``gzipEncoder`` or ``brotliEncoder``.
package enum Compression {
  /// zlib's best level.
  private static let gzipLevel: CInt = 9
  /// Two steps below brotli's best quality: TokenScripts get 5 % larger, in an eighth of the time.
  private static let brotliQuality: CInt = 9

  /// The name of the gzip encoder: library, version and level.
  package static let gzipEncoder = unsafe "zlib-\(String(cString: zlibVersion()))-\(gzipLevel)"
  /// The name of the brotli encoder: library, version and quality.
  package static let brotliEncoder =
    "brotli-\(String(BrotliEncoderVersion(), radix: 16))-\(brotliQuality)"

  /// Compresses bytes to a gzip member (RFC 1952) without name and time.
  ///
  /// - Returns: the compressed bytes, or nil if they would not be fewer.
  package static func gzip(_ bytes: RawSpan) -> [UInt8]? {
    unsafe shrinking(bytes) { input, output in
      guard let inputLength = UInt32(exactly: input.count),
        let outputLength = UInt32(exactly: output.count)
      else { return nil }
      var stream = unsafe z_stream()
      // 15 bits of window, and 16 more for the gzip format.
      guard
        unsafe deflateInit2_(
          &stream, gzipLevel, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
          CInt(MemoryLayout<z_stream>.size)) == Z_OK
      else { return nil }
      defer { unsafe deflateEnd(&stream) }
      // zlib only reads its input, although the pointer's type lacks `const`.
      unsafe stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
      unsafe stream.avail_in = inputLength
      unsafe stream.next_out = output.baseAddress
      unsafe stream.avail_out = outputLength
      guard unsafe deflate(&stream, Z_FINISH) == Z_STREAM_END else { return nil }
      return unsafe output.count - Int(stream.avail_out)
    }
  }

  /// Compresses bytes to a brotli stream (RFC 7932).
  ///
  /// - Returns: the compressed bytes, or nil if they would not be fewer.
  package static func brotli(_ bytes: RawSpan) -> [UInt8]? {
    unsafe shrinking(bytes) { input, output in
      var length = output.count
      let isDone = unsafe BrotliEncoderCompress(
        brotliQuality, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_TEXT, input.count, input.baseAddress,
        &length, output.baseAddress)
      return isDone == BROTLI_TRUE ? length : nil
    }
  }

  /// Calls an encoder with a buffer that is one byte shorter than its input.
  private static func shrinking(
    _ bytes: RawSpan,
    _ code: (UnsafeBufferPointer<UInt8>, UnsafeMutableBufferPointer<UInt8>) -> Int?
  ) -> [UInt8]? {
    guard bytes.byteCount > 1 else { return nil }
    return unsafe bytes.withUnsafeBytes { raw in
      unsafe raw.withMemoryRebound(to: UInt8.self) { input in
        var isDone = false
        let result = unsafe [UInt8](unsafeUninitializedCapacity: input.count - 1) {
          output, filled in
          guard let length = unsafe code(input, output) else { return }
          filled = length
          isDone = true
        }
        return isDone ? result : nil
      }
    }
  }
}
