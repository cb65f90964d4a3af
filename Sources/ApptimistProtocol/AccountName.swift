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
