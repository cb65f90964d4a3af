/// A validator of a representation (RFC 9110 section 8.8.3), a strong one: equality promises the same bytes.
public struct EntityTag: Hashable, Sendable {
  /// The text between the quotes.
  public let opaque: [UInt8]

  /// A tag made by the server.
  ///
  /// - Parameter opaque: printable ASCII without blank and quotation mark; anything else becomes `_`.
  public init(_ opaque: String) {
    self.opaque = opaque.utf8.map { Self.isTagByte($0) && $0 < 0x7f ? $0 : UInt8(ascii: "_") }
  }

  /// The tag as `ETag` has it: `"abc"`.
  public var text: String { "\"\(String(decoding: opaque, as: UTF8.self))\"" }

  /// `etagc` of RFC 9110 section 8.8.3.
  static func isTagByte(_ byte: UInt8) -> Bool { byte == 0x21 || byte >= 0x23 && byte != 0x7f }
}

extension EntityTag {
  /// Returns whether a value of `If-Match` or `If-None-Match` is `*` or lists this tag.
  ///
  /// Nothing is allocated. The part of the list behind a fault is not looked at.
  ///
  /// - Parameters:
  ///   - value: the value.
  ///   - tag: the tag, or nil if there is none to match.
  ///   - isStrong: whether a weak tag of the list counts as another than the strong one (section 8.8.3.2).
  /// - Returns: whether it matches.
  static func list(_ value: ArraySlice<UInt8>, matches tag: EntityTag?, isStrong: Bool) -> Bool {
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
      if !isStrong || !isWeak, opaque.elementsEqual(tag.opaque) { return true }
      rest = rest.drop(while: \.isBlank)
      guard rest.first == UInt8(ascii: ",") else { return false }
    }
  }
}
