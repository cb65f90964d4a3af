/// Checks UTF-8 that comes in pieces, and fails at the first byte that no valid text can have there.
struct UTF8Validator: Sendable {
  /// Continuation bytes that the current character still needs.
  private var needed: UInt8 = 0
  /// The bounds of the next continuation byte; narrower right after some first bytes (RFC 3629).
  private var lowest: UInt8 = 0x80
  private var highest: UInt8 = 0xbf

  /// True if the text could end here.
  var isComplete: Bool { needed == 0 }

  /// Takes the next piece.
  ///
  /// - Returns: false once the text is invalid.
  mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index < bytes.count {
      if needed == 0 {
        while index + 8 <= bytes.count,
          unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            & 0x8080_8080_8080_8080 == 0
        {
          index += 8
        }
        guard index < bytes.count else { return true }
      }
      guard unsafe accept(bytes[index]) else { return false }
      index += 1
    }
    return true
  }

  private mutating func accept(_ byte: UInt8) -> Bool {
    if needed > 0 {
      guard byte >= lowest, byte <= highest else { return false }
      needed -= 1
      lowest = 0x80
      highest = 0xbf
      return true
    }
    switch byte {
    case 0x00...0x7f: break
    case 0xc2...0xdf: needed = 1
    case 0xe0...0xef:
      needed = 2
      // Neither overlong forms nor surrogates.
      if byte == 0xe0 { lowest = 0xa0 }
      if byte == 0xed { highest = 0x9f }
    case 0xf0...0xf4:
      needed = 3
      // Neither overlong forms nor anything above U+10FFFF.
      if byte == 0xf0 { lowest = 0x90 }
      if byte == 0xf4 { highest = 0x8f }
    default: return false
    }
    return true
  }
}
