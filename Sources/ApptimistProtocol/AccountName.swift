/// The name of a user or a forum: UTF-8, 1 to 255 bytes, without control characters (page
/// "Accounts").
public struct AccountName: Hashable, Sendable {
  /// The name as it was given, not normalized.
  public let text: String

  /// Takes a name.
  ///
  /// - Returns: nil if no account can have it.
  public init?(_ bytes: ShortBytes) {
    guard let text = bytes.text else { return nil }
    self.init(text)
  }

  /// Takes a name.
  ///
  /// - Returns: nil if no account can have it.
  public init?(_ text: String) {
    guard (1...255).contains(text.utf8.count),
      !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { return nil }
    self.text = text
  }

  /// The name as a field of a PDU.
  public var bytes: ShortBytes { ShortBytes(unchecked: [UInt8](text.utf8)) }
}

/// At most 255 bytes, as many as a field whose length is one byte can hold.
public struct ShortBytes: Hashable, Sendable {
  /// The bytes, at most 255.
  public let bytes: [UInt8]

  /// No bytes.
  public static let empty = ShortBytes(unchecked: [])

  /// Takes bytes.
  ///
  /// - Returns: nil if there are more than 255.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count <= UInt8.max else { return nil }
    self.init(unchecked: [UInt8](bytes))
  }

  /// Takes the UTF-8 form of a text.
  ///
  /// - Returns: nil if that is longer than 255 bytes.
  public init?(_ text: String) { self.init(text.utf8) }

  init(unchecked bytes: [UInt8]) { self.bytes = bytes }

  /// The number of bytes, as the length field has it.
  public var count: UInt8 { UInt8(bytes.count) }

  /// The bytes as text, or nil if they are not valid UTF-8.
  public var text: String? { String(validating: bytes, as: UTF8.self) }
}
