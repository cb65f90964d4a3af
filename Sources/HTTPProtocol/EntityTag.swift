/// A validator of a representation (RFC 9110 section 8.8.3).
public struct EntityTag: Hashable, Sendable {
  /// The text between the quotes.
  public let opaque: [UInt8]
  /// True if equality promises equivalent content only, not the same bytes.
  public let isWeak: Bool

  /// A tag made by the server.
  ///
  /// - Parameters:
  ///   - opaque: printable ASCII without blank and quotation mark; anything else becomes `_`.
  ///   - isWeak: whether it promises equivalence only.
  public init(_ opaque: String, isWeak: Bool = false) {
    self.opaque = opaque.utf8.map { Self.isTagByte($0) && $0 < 0x7f ? $0 : UInt8(ascii: "_") }
    self.isWeak = isWeak
  }

  /// The tag as `ETag` has it: `"abc"` or `W/"abc"`.
  public var text: String {
    (isWeak ? "W/\"" : "\"") + String(decoding: opaque, as: UTF8.self) + "\""
  }

  /// `etagc` of RFC 9110 section 8.8.3.
  static func isTagByte(_ byte: UInt8) -> Bool { byte == 0x21 || byte >= 0x23 && byte != 0x7f }
}

/// A way to compare two entity tags (RFC 9110 section 8.8.3.2).
enum EntityTagComparison {
  /// Equal if both are strong and the same.
  case strong
  /// Equal if the same, weak or not.
  case weak
}

extension EntityTag {
  /// Returns whether a value of `If-Match` or `If-None-Match` is `*` or lists this tag.
  ///
  /// Nothing is allocated. The part of the list behind a fault is not looked at.
  ///
  /// - Returns: whether it matches.
  static func list(
    _ value: ArraySlice<UInt8>, matches tag: EntityTag?, _ comparison: EntityTagComparison
  ) -> Bool {
    if value.count == 1, value.first == UInt8(ascii: "*") { return true }
    guard let tag else { return false }
    var rest = value
    while true {
      rest = rest.drop { $0.isBlank || $0 == UInt8(ascii: ",") }
      let isWeak = rest.starts(with: "W/".utf8)
      if isWeak { rest = rest.dropFirst(2) }
      guard rest.popFirst() == UInt8(ascii: "\"") else { return false }
      let opaque = rest.prefix(while: isTagByte)
      rest = rest[opaque.endIndex...]
      guard rest.popFirst() == UInt8(ascii: "\"") else { return false }
      let counts = comparison == .weak || !isWeak && !tag.isWeak
      if counts, opaque.elementsEqual(tag.opaque) { return true }
      rest = rest.drop(while: \.isBlank)
      guard rest.first == UInt8(ascii: ",") else { return false }
    }
  }
}
