/// The identifier of a message. Each is higher than all that the server made before, so the highest that a device has
/// is also its position in the inbox.
public struct MsgrMessageID: Hashable, Comparable, Sendable {
  /// 16 lower-case hexadecimal digits, as the protocol writes them.
  public let text: String

  /// Reads an identifier that was kept as text.
  ///
  /// - Parameter text: 16 lower-case hexadecimal digits.
  /// - Returns: the identifier, or nil for anything else.
  public init?(_ text: String) {
    guard text.utf8.count == 16, text.utf8.allSatisfy("0123456789abcdef".utf8.contains) else {
      return nil
    }
    self.text = text
  }

  /// Returns whether one message was made before another.
  public static func < (left: Self, right: Self) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}

extension MsgrMessageID: RawRepresentable, Decodable {
  /// The digits.
  public var rawValue: String { text }

  /// Reads an identifier as the server writes it.
  public init?(rawValue: String) { self.init(rawValue) }
}

extension MsgrMessageID: CustomStringConvertible {
  /// The digits.
  public var description: String { text }
}
