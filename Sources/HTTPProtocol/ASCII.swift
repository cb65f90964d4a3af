internal import Glibc

/// A set of ASCII bytes: one bit each, so that a question needs no table in memory.
struct ByteSet: Sendable {
  /// The bytes 0 to 63, the lowest bit first.
  let low: UInt64
  /// The bytes 64 to 127.
  let high: UInt64

  /// Returns whether a byte is in the set.
  func contains(_ byte: UInt8) -> Bool {
    let word = byte < 64 ? low : byte < 128 ? high : 0
    return (word >> UInt64(byte & 63)) & 1 == 1
  }

  /// `tchar` of RFC 9110 section 5.6.2: letters, digits, and one of ``!#$%&'*+-.^_`|~``.
  static let token = ByteSet(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe)
  /// The bytes of a registered host name: letters, digits, and one of `-._~`, which are also the
  /// unreserved characters of RFC 3986. Percent-encoding and sub-delimiters are left out: no http
  /// host has them, and they would have to be escaped wherever a host is written.
  static let hostName = ByteSet(low: 0x03ff_6000_0000_0000, high: 0x47ff_fffe_87ff_fffe)
  /// Base64 without padding: letters, digits, `+`, `/`.
  static let base64 = ByteSet(low: 0x03ff_8800_0000_0000, high: 0x07ff_fffe_07ff_fffe)
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
