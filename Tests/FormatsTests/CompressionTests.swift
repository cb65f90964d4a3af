internal import CBrotli
internal import CZlib
internal import Formats
internal import Testing

struct CompressionTests {
  private static let text = Array(
    String(repeating: "<ts:token>\u{1F600}</ts:token>\n", count: 9000).utf8)

  /// Random bytes, the same at each run.
  private static func noise(_ count: Int) -> [UInt8] {
    var state: UInt64 = 88_172_645_463_325_252
    return (0..<count).map { _ in
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return UInt8(truncatingIfNeeded: state >> 32)
    }
  }

  private func gzip(_ bytes: [UInt8]) -> [UInt8]? { Compression.gzip(bytes.span.bytes) }

  private func brotli(_ bytes: [UInt8]) -> [UInt8]? { Compression.brotli(bytes.span.bytes) }

  /// Decompresses a gzip member with zlib's decoder.
  private func gunzip(_ bytes: [UInt8], room: Int) -> [UInt8]? {
    var bytes = bytes
    var output = [UInt8](repeating: 0, count: room + 1)
    var stream = z_stream()
    guard
      inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size)) == Z_OK
    else { return nil }
    defer { inflateEnd(&stream) }
    return bytes.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(output.count)
        guard inflate(&stream, Z_FINISH) == Z_STREAM_END else { return nil }
        return Array(output.prefix(Int(stream.total_out)))
      }
    }
  }

  /// Decompresses a brotli stream with brotli's decoder.
  private func unbrotli(_ bytes: [UInt8], room: Int) -> [UInt8]? {
    var output = [UInt8](repeating: 0, count: room + 1)
    var length = output.count
    guard
      BrotliDecoderDecompress(bytes.count, bytes, &length, &output)
        == BROTLI_DECODER_RESULT_SUCCESS
    else { return nil }
    return Array(output.prefix(length))
  }

  /// The contents by name, because a test prints its arguments.
  enum Sample: String, CaseIterable {
    case long, short, partlyNoise, zeros

    var content: [UInt8] {
      switch self {
      case .long: text
      case .short: Array(text.prefix(200))
      case .partlyNoise: noise(5000) + text
      case .zeros: [UInt8](repeating: 0, count: 8 << 20)
      }
    }
  }

  @Test(arguments: Sample.allCases)
  func whatIsCompressedComesBack(sample: Sample) throws {
    let content = sample.content
    let gzip = try #require(self.gzip(content))
    #expect(gzip.count < content.count)
    #expect(gunzip(gzip, room: content.count) == content)
    let brotli = try #require(self.brotli(content))
    #expect(brotli.count < content.count)
    #expect(unbrotli(brotli, room: content.count) == content)
  }

  @Test func whatWouldGrowIsLeftAlone() {
    for content in [[], [0x3c], Array("<a/>".utf8), Self.noise(100_000)] {
      #expect(gzip(content) == nil)
      #expect(brotli(content) == nil)
    }
  }

  @Test func theSameBytesGiveTheSame() {
    #expect(gzip(Self.text) == gzip(Self.text))
    #expect(brotli(Self.text) == brotli(Self.text))
    #expect(Compression.gzipEncoder.hasPrefix("zlib-1."))
    #expect(Compression.brotliEncoder.hasPrefix("brotli-1"))
  }
}
