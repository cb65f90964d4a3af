internal import Glibc

/// A set of ASCII bytes: one bit each, so that a look-up needs no table in memory.
struct ByteSet: Sendable {
  /// The bytes 0 to 63, the lowest bit first.
  private let low: UInt64
  /// The bytes 64 to 127.
  private let high: UInt64

  /// Makes the set of the bytes of ASCII characters, and of all letters and digits.
  private init(lettersDigitsAnd characters: StaticString) {
    var low: UInt64 = 0
    var high: UInt64 = 0
    func insert(_ byte: UInt8) {
      if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
    }
    for byte in UInt8(ascii: "0")...UInt8(ascii: "9") { insert(byte) }
    for byte in UInt8(ascii: "A")...UInt8(ascii: "Z") { insert(byte) }
    for byte in UInt8(ascii: "a")...UInt8(ascii: "z") { insert(byte) }
    characters.withUTF8Buffer { bytes in unsafe bytes.forEach(insert) }
    self.low = low
    self.high = high
  }

  /// Returns whether a byte is in the set.
  func contains(_ byte: UInt8) -> Bool {
    let word: UInt64 =
      switch byte {
      case ..<64: low
      case ..<128: high
      default: 0
      }
    return (word >> UInt64(byte & 63)) & 1 == 1
  }

  /// `tchar` of RFC 9110 section 5.6.2.
  static let token = ByteSet(lettersDigitsAnd: "!#$%&'*+-.^_`|~")
  /// The bytes of a registered host name, which are also the unreserved characters of RFC 3986. Percent-encoding and
  /// sub-delimiters are left out: no http host has them, and they would have to be escaped wherever a host is written.
  static let hostName = ByteSet(lettersDigitsAnd: "-._~")
  /// Base64 without padding.
  static let base64 = ByteSet(lettersDigitsAnd: "+/")
}

extension UInt8 {
  /// The byte with an ASCII capital made small.
  var lowercase: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

  /// The value of an ASCII digit.
  var digitValue: UInt8? { self &- 0x30 < 10 ? self &- 0x30 : nil }

  /// The value of an ASCII hexadecimal digit of either case.
  var hexValue: UInt8? {
    if let digit = digitValue { return digit }
    let letter = lowercase &- 0x61
    return letter < 6 ? letter + 10 : nil
  }

  /// True if the byte may stand in a field's value: no control character but the tab (RFC 9110 section 5.5).
  var isFieldContent: Bool { self >= 0x20 && self != 0x7f || self == 0x09 }

  /// Space or tab.
  var isBlank: Bool { self == 0x20 || self == 0x09 }
}

extension Span<UInt8> {
  /// Returns whether a part equals a text without regard to ASCII case.
  func equals(_ text: StaticString, in range: Range<Int>) -> Bool {
    guard range.count == text.utf8CodeUnitCount else { return false }
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    return text.withUTF8Buffer { text in
      // Most clients write names as the standards do.
      if unsafe extracting(range).isIdentical(to: text.span) { return true }
      for index in 0..<text.count
      where unsafe self[unchecked: range.lowerBound + index].lowercase != text[index].lowercase {
        return false
      }
      return true
    }
  }

  /// Returns whether two texts are the same bytes.
  func isIdentical(to other: Span<UInt8>) -> Bool {
    guard count == other.count else { return false }
    return unsafe withUnsafeBytes { left in
      unsafe other.withUnsafeBytes { right in
        guard let left = left.baseAddress, let right = right.baseAddress else { return true }
        return unsafe memcmp(left, right, count) == 0
      }
    }
  }

  /// A part without the blanks at both its ends.
  func trimmed(_ range: Range<Int>) -> Range<Int> {
    var lower = range.lowerBound
    var upper = range.upperBound
    while lower < upper, self[lower].isBlank { lower += 1 }
    while lower < upper, self[upper - 1].isBlank { upper -= 1 }
    return lower..<upper
  }

  /// The end of the run of bytes of a set that a part begins with.
  func end(of set: ByteSet, in range: Range<Int>) -> Int {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    var index = range.lowerBound
    while index < range.upperBound, unsafe set.contains(self[unchecked: index]) { index += 1 }
    return index
  }

  /// Returns whether a comma-separated list without quoting has a member, without regard to ASCII case. It has no empty
  /// ones.
  func list(in range: Range<Int>, contains member: StaticString) -> Bool {
    var start = range.lowerBound
    for index in range.lowerBound...range.upperBound
    where index == range.upperBound || self[index] == UInt8(ascii: ",") {
      let candidate = trimmed(start..<index)
      if !candidate.isEmpty, equals(member, in: candidate) { return true }
      start = index + 1
    }
    return false
  }
}

extension ArraySlice<UInt8> {
  /// The position of the first of the bytes that equals one, as the C library finds it.
  package func first(at byte: UInt8) -> Int? {
    unsafe withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress,
        let found = unsafe memchr(start, Int32(byte), bytes.count)
      else { return nil }
      return unsafe startIndex + (UnsafeRawPointer(found) - start)
    }
  }
}

extension [UInt8] {
  /// Appends the characters of a text.
  mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { text in unsafe append(contentsOf: text) }
  }

  /// Appends a number in decimal.
  mutating func append(decimal value: Int) {
    if value >= 10 { append(decimal: value / 10) }
    append(UInt8(ascii: "0") + UInt8(value % 10))
  }
}

/// Finds bytes of a kind, eight at a time.
enum ByteScan {
  /// The position of the first byte below 0x20 or equal to 0x7f, tab included, or `end`.
  static func firstControl(in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Int {
    unsafe first(in: bytes, from: start, to: end) { below(0x20, $0) | equal(0x7f, $0) }
  }

  /// The position of the first byte that no target has, or of the first `?`, or `end`.
  static func firstTargetStop(
    in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int
  ) -> Int {
    unsafe first(in: bytes, from: start, to: end) {
      below(0x21, $0) | equal(UInt8(ascii: "#"), $0) | equal(UInt8(ascii: "?"), $0)
        | equal(0x7f, $0) | $0
    }
  }

  /// The position of the first byte that no query has, or `end`. People and scripts type more than ASCII there, which curl sends
  /// as it is; nothing but text is read from it.
  static func firstQueryStop(
    in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int
  ) -> Int {
    unsafe first(in: bytes, from: start, to: end) {
      below(0x21, $0) | equal(UInt8(ascii: "#"), $0) | equal(0x7f, $0)
    }
  }

  /// Looks for the first byte that a closure marks with its highest bit in a word.
  ///
  /// A subtraction's borrow can mark only bytes above one that is rightly marked, so the lowest mark
  /// is right. A word that is not whole is filled with the letter `x`, which nothing marks.
  @inline(__always)
  private static func first(
    in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int, _ marks: (UInt64) -> UInt64
  ) -> Int {
    var index = start
    while index + 8 <= end {
      let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let found = marks(UInt64(littleEndian: word)) & 0x8080_8080_8080_8080
      if found != 0 { return index + found.trailingZeroBitCount >> 3 }
      index += 8
    }
    var word = repeated(UInt8(ascii: "x"))
    var last = end
    while last > index {
      last -= 1
      word = word << 8 | UInt64(unsafe bytes[last])
    }
    let found = marks(word) & 0x8080_8080_8080_8080
    return found == 0 ? end : index + found.trailingZeroBitCount >> 3
  }

  private static func repeated(_ byte: UInt8) -> UInt64 { UInt64(byte) &* 0x0101_0101_0101_0101 }

  private static func below(_ bound: UInt8, _ word: UInt64) -> UInt64 {
    (word &- repeated(bound)) & ~word
  }

  private static func equal(_ byte: UInt8, _ word: UInt64) -> UInt64 {
    below(1, word ^ repeated(byte))
  }
}

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
