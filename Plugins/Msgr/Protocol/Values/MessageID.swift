internal import Platform

/// The identifier of a message, higher than all that were made before it.
///
/// The upper 48 bits are milliseconds since 1970, so that identifiers go on rising after an older backup of the
/// database is restored.
struct MessageID: Hashable, Sendable, RawRepresentable {
  /// The number, which is not negative.
  let rawValue: Int64

  init(rawValue: Int64) { self.rawValue = rawValue }

  /// Makes the lowest identifier of a moment.
  ///
  /// - Parameter moment: the time; a clock that is far off counts as the nearest moment that leaves room for more.
  init(earliestAt moment: Timestamp) {
    rawValue = min(max(moment.milliseconds, 0), 1 << 46) << 16
  }

  /// The position before all messages.
  static let zero = MessageID(rawValue: 0)
  /// The position after all messages.
  static let last = MessageID(rawValue: .max)

  /// The identifier right above this one; the last one has none.
  var next: MessageID { MessageID(rawValue: rawValue == .max ? .max : rawValue + 1) }

  /// Reads 16 lower-case hexadecimal digits.
  ///
  /// - Parameters:
  ///   - text: the digits.
  ///   - field: the field that holds them.
  /// - Throws: ``FieldError`` for anything else.
  init(_ text: String, in field: FieldID) throws(FieldError) {
    guard !text.isEmpty else { throw FieldError(field, "is empty") }
    let digits = text.utf8
    let isHex = digits.allSatisfy("0123456789abcdef".utf8.contains)
    guard digits.count == 16, isHex, let number = UInt64(text, radix: 16) else {
      throw FieldError(field, "is not 16 lower-case hexadecimal digits")
    }
    // A higher number is a position after all messages.
    rawValue = Int64(clamping: number)
  }

  /// The identifier as 16 lower-case hexadecimal digits.
  var text: String {
    let digits = String(rawValue, radix: 16)
    return String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits
  }
}

extension MessageID: Comparable {
  /// Compares two identifiers in the order in which they were made.
  static func < (left: MessageID, right: MessageID) -> Bool {
    left.rawValue < right.rawValue
  }
}
