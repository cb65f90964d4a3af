/// The pattern of a search by name: a text, or a glob over the whole name, in which `*` stands for any
/// number of scalars and `?` for one (page "Users and vouchers").
struct NamePattern: Sendable {
  private static let star = UInt8(ascii: "*")
  private static let questionMark = UInt8(ascii: "?")

  /// The pattern in UTF-8, normalized and folded as names are.
  let bytes: [UInt8]
  /// True if it is a glob.
  let isGlob: Bool
  /// The bytes with which all names start that it matches.
  let prefix: [UInt8]

  init(_ text: SearchText) {
    bytes = text.bytes
    prefix = Array(bytes.prefix { $0 != Self.star && $0 != Self.questionMark })
    isGlob = prefix.count < bytes.count
  }

  /// Returns whether a glob matches a whole name.
  ///
  /// Only the last one of several stars is ever tried again: a later part of the pattern that can be
  /// found at all can also be found behind the first match of the part before it.
  ///
  /// - Parameters:
  ///   - name: valid UTF-8, normalized and folded.
  ///   - steps: the number of bytes that may be compared; loses those that were. When it comes to 0,
  ///     the result is false.
  func matches(_ name: Span<UInt8>, steps: inout Int) -> Bool {
    var (place, next) = (0, 0)
    var retry: (place: Int, next: Int)?
    while place < name.count {
      steps -= 1
      guard steps > 0 else { return false }
      if next < bytes.count, bytes[next] == Self.star {
        next += 1
        retry = (place, next)
      } else if next < bytes.count, bytes[next] == Self.questionMark {
        place += Self.scalarLength(name[place])
        next += 1
      } else if next < bytes.count, bytes[next] == name[place] {
        place += 1
        next += 1
      } else if let last = retry {
        place = last.place + Self.scalarLength(name[last.place])
        next = last.next
        retry = (place, next)
      } else {
        return false
      }
    }
    return bytes[next...].allSatisfy { $0 == Self.star }
  }

  /// The length of a scalar, in bytes, by its first byte.
  private static func scalarLength(_ first: UInt8) -> Int {
    first < 0x80 ? 1 : max(1, (~first).leadingZeroBitCount)
  }
}
