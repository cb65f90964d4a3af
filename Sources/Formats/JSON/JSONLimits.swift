/// What a JSON text may have so that it is read at all. A tree is made of every element before anybody looks at one, which costs
/// much more than to count them.
enum JSONLimits {
  /// The most elements and members of all lists and objects together.
  private static let elements = 4096

  /// Returns whether a text, which need not be JSON, has no more elements than is allowed.
  static func allow(_ bytes: [UInt8]) -> Bool {
    // With fewer bytes it can't have more.
    guard bytes.count > 2 * elements else { return true }
    var count = 0
    var isInString = false
    var isEscaped = false
    for byte in bytes {
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "{"):
        count += 1
        if count > elements { return false }
      default: break
      }
    }
    return true
  }
}
