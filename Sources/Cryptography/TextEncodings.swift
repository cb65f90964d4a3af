internal import CCJose
internal import CSodium

/// Hexadecimal text of bytes, without a prefix.
public enum Hex {
  /// Returns bytes as lower-case digits, two for each byte.
  public static func encode(_ bytes: some Sequence<UInt8>) -> String {
    let bytes = Array(bytes)
    // Its NUL needs room too.
    return unsafe String(unsafeUninitializedCapacity: 2 * bytes.count + 1) { text in
      unsafe text.withMemoryRebound(to: CChar.self) { text in
        guard let start = text.baseAddress else { return 0 }
        unsafe sodium_bin2hex(start, text.count, bytes, bytes.count)
        return 2 * bytes.count
      }
    }
  }

  /// Reads digits of either case.
  ///
  /// - Parameter text: ASCII digits, two for each byte.
  /// - Returns: the bytes, or nil if the number of digits is odd or a character is no digit.
  @inlinable
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    decode(digits: Array(text))
  }

  @usableFromInline
  static func decode(digits: [UInt8]) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: digits.count / 2)
    let result = unsafe digits.withUnsafeBytes { digits in
      unsafe sodium_hex2bin(
        &bytes, bytes.count, digits.bindMemory(to: CChar.self).baseAddress, digits.count, nil, nil,
        nil)
    }
    return result == 0 ? bytes : nil
  }
}

extension Sequence<UInt8> {
  /// Returns the digits of a big-endian number in a base, the highest first; none for zero.
  package func digits(base: Int) -> [Int] {
    var digits: [Int] = []
    for byte in self {
      var carry = Int(byte)
      for place in digits.indices {
        carry += digits[place] << 8
        digits[place] = carry % base
        carry /= base
      }
      while carry > 0 {
        digits.append(carry % base)
        carry /= base
      }
    }
    return digits.reversed()
  }

  /// The decimal digits of a big-endian number.
  package var decimalNumber: String {
    let digits = digits(base: 10)
    return digits.isEmpty ? "0" : digits.map(String.init).joined()
  }
}

/// 32 bytes that lie inline.
struct FourWords: FixedBytes {
  var first: UInt64 = 0
  var second: UInt64 = 0
  var third: UInt64 = 0
  var fourth: UInt64 = 0

  /// The point that the bytes of a key of Curve25519 stand for, whose highest bit is no part of it.
  var point: FourWords {
    var point = self
    point.fourth = (fourth.bigEndian & ~0x80).bigEndian
    return point
  }

  /// Returns the points of low order that are written alike on both forms of the curve, and those of one form.
  static func lowOrder(and others: String...) -> Set<FourWords> {
    let zeros = String(repeating: "0", count: 62)
    let ones = String(repeating: "f", count: 60) + "7f"
    let common = ["00\(zeros)", "01\(zeros)", "ec\(ones)", "ed\(ones)", "ee\(ones)"]
    return Set((common + others).compactMap { FourWords(hex: $0) })
  }
}

/// 64 bytes that lie inline.
struct EightWords: BitwiseCopyable, Hashable, Sendable {
  private var low = FourWords()
  private var high = FourWords()
}

/// Base64 for URLs without padding (RFC 4648 section 5), as JSON Web Tokens and Web Push have it.
public enum Base64URL {
  /// Encodes bytes.
  ///
  /// - Parameter bytes: any number of bytes.
  /// - Returns: the text, without padding.
  public static func encode(_ bytes: [UInt8]) -> String {
    var start: UnsafeMutablePointer<CChar>?
    var count = 0
    guard unsafe cjose_base64url_encode(bytes, bytes.count, &start, &count, nil) else { return "" }
    defer { unsafe cjose_get_dealloc()(start) }
    return unsafe String(
      decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// Decodes a text, with or without padding.
  ///
  /// - Returns: the bytes, or nil unless the text is base64url of at least one byte.
  public static func decode(_ text: String) -> [UInt8]? {
    let signs = Array(text.utf8.prefix { $0 != UInt8(ascii: "=") })
    let padding = text.utf8.dropFirst(signs.count)
    guard isWellFormed(signs), padding.count <= 2, padding.allSatisfy({ $0 == UInt8(ascii: "=") })
    else { return nil }
    var start: UnsafeMutablePointer<UInt8>?
    var count = 0
    let isDecoded = unsafe signs.withUnsafeBytes { signs in
      unsafe cjose_base64url_decode(
        signs.bindMemory(to: CChar.self).baseAddress, signs.count, &start, &count, nil)
    }
    guard isDecoded else { return nil }
    defer { unsafe cjose_get_dealloc()(start) }
    return unsafe Array(UnsafeBufferPointer(start: start, count: count))
  }

  /// Returns whether a text has only signs of the alphabet, and as many as some number of bytes makes.
  ///
  /// Nothing else may reach cjose, whose decoder ends the process at a single sign behind the last four.
  static func isWellFormed(_ text: some Collection<UInt8>) -> Bool {
    !text.isEmpty && text.count % 4 != 1
      && text.allSatisfy { sign in
        switch sign {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}
