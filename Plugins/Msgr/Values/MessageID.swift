internal import Storage

/// A message's identifier: each is higher than all that were made before.
///
/// Milliseconds since 1970 in the upper 48 bits, so that it stays higher when an older backup of
/// the database is restored.
struct MessageID: Hashable, Sendable, RawRepresentable {
  /// The number; not negative.
  let rawValue: Int64

  init(rawValue: Int64) { self.rawValue = rawValue }

  /// The lowest one that a moment allows.
  ///
  /// - Parameter milliseconds: since 1970; a clock that is far off is taken as the nearest moment
  ///   that leaves room for more.
  init(earliestAt milliseconds: Int64) {
    rawValue = min(max(milliseconds, 0), 1 << 46) << 16
  }

  /// Before all messages.
  static let zero = MessageID(rawValue: 0)
  /// Behind all messages.
  static let last = MessageID(rawValue: .max)

  /// Reads 16 lower-case hexadecimal digits.
  ///
  /// - Parameters:
  ///   - text: the digits.
  ///   - field: the field it came in.
  /// - Throws: ``FieldError`` for anything else.
  init(_ text: String, in field: FieldID) throws(FieldError) {
    guard !text.isEmpty else { throw FieldError(field, "is empty") }
    let digits = text.utf8
    let isHex = digits.allSatisfy {
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
    }
    guard digits.count == 16, isHex, let number = UInt64(text, radix: 16) else {
      throw FieldError(field, "is not 16 lower-case hexadecimal digits")
    }
    // A position behind all that can be.
    rawValue = Int64(clamping: number)
  }

  /// 16 lower-case hexadecimal digits.
  var text: String {
    let digits = String(rawValue, radix: 16)
    return String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits
  }
}

extension MessageID: Comparable, DatabaseValueConvertible {
  /// In the order they were made.
  static func < (left: MessageID, right: MessageID) -> Bool { left.rawValue < right.rawValue }
}
