/// Reads `chunk-size [chunk-ext] CRLF` byte by byte (RFC 9112 section 7.1); extensions are dropped.
struct ChunkHeader: Sendable {
  private enum Part: Sendable { case digits, blank, extensions, lineFeed }

  /// More digits than any size needs are zeros in front, which cost nothing to send.
  private static let digitLimit = 16

  private var part = Part.digits
  private var digits = 0
  /// The size so far, in bytes.
  private(set) var size = 0

  /// Takes the next byte.
  ///
  /// - Parameters:
  ///   - byte: the byte.
  ///   - extensions: the number of bytes of extensions in all chunks of the body.
  /// - Returns: whether the line is complete.
  mutating func take(_ byte: UInt8, extensions: inout Int) throws(RequestFailure) -> Bool {
    switch part {
    case .digits:
      if let digit = byte.hexValue {
        guard size <= Int.max >> 4 else {
          throw RequestFailure(.contentTooLarge, "chunk too large")
        }
        digits += 1
        guard digits <= Self.digitLimit else { throw RequestFailure("chunk size too long") }
        size = size << 4 | Int(digit)
        return false
      }
      guard digits > 0 else { throw RequestFailure("no chunk size") }
      if byte == 0x0d {
        part = .lineFeed
      } else {
        try takeSeparator(byte)
        extensions += 1
      }
    case .blank:
      try takeSeparator(byte)
      extensions += 1
    case .extensions:
      if byte == 0x0d {
        part = .lineFeed
      } else {
        guard byte.isFieldContent else {
          throw RequestFailure("control character in a chunk extension")
        }
        extensions += 1
      }
    case .lineFeed:
      guard byte == 0x0a else { throw RequestFailure("bare CR after a chunk size") }
      return true
    }
    return false
  }

  /// `;`, and blanks before it, which section 7.1.1 has recipients take.
  private mutating func takeSeparator(_ byte: UInt8) throws(RequestFailure) {
    guard byte == UInt8(ascii: ";") || byte.isBlank else {
      throw RequestFailure("malformed chunk size")
    }
    part = byte.isBlank ? .blank : .extensions
  }
}
