/// At most 255 bytes: what a field whose length is one byte can hold.
public struct ShortBytes: Hashable, Sendable {
  /// The bytes, at most 255.
  public let bytes: [UInt8]

  /// No bytes.
  public static let empty = ShortBytes(unchecked: [])

  /// Takes bytes; nil if there are more than 255.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count <= UInt8.max else { return nil }
    self.init(unchecked: [UInt8](bytes))
  }

  /// Takes the UTF-8 form of a text; nil if that is longer than 255 bytes.
  public init?(_ text: String) {
    self.init(text.utf8)
  }

  init(unchecked bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// How many bytes there are, as the length field says it.
  public var count: UInt8 { UInt8(bytes.count) }

  /// The bytes as text; nil if they are no valid UTF-8.
  public var text: String? { String(validating: bytes, as: UTF8.self) }
}
