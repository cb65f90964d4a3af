/// The name of a file in a user's or a forum's directory: UTF-8, 1 to 255 bytes, without `/` and NUL,
/// neither `.` nor `..` (page "Files").
public struct Filename: Hashable, Sendable {
  /// The names whose files mean something to the service (RFC "Reserved Files").
  public enum Reserved: String, CaseIterable, Sendable {
    /// The one key of the user who made the directory.
    case author
    /// The keys of those who may write too.
    case editors
    /// The keys of those who pass a forum's messages on.
    case moderators
    /// The keys of those who get a forum's messages.
    case subscribers
    /// The forum's secret key, sealed to the service.
    case secret
  }

  /// The name as it was given, not normalized.
  public let text: String

  /// Takes a name.
  ///
  /// - Returns: nil if no file can have it (error 4).
  public init?(_ bytes: ShortBytes) {
    guard let text = bytes.text else { return nil }
    self.init(text)
  }

  /// Takes a name.
  ///
  /// - Returns: nil if no file can have it (error 4).
  public init?(_ text: String) {
    guard (1...255).contains(text.utf8.count), text != ".", text != "..",
      !text.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") })
    else { return nil }
    self.text = text
  }

  /// The name of the file in which a user's devices keep whom the user allows and blocks.
  public static let people = Filename(unchecked: ".people")

  private init(unchecked text: String) { self.text = text }

  /// Makes the name of a reserved file.
  public init(_ reserved: Reserved) { text = reserved.rawValue }

  /// The name as a field of a PDU.
  public var bytes: ShortBytes { ShortBytes(unchecked: [UInt8](text.utf8)) }

  /// The name of the file that says what a forum asks of who joins.
  public static let gate = Filename(unchecked: "gate")

  /// The meaning of the file to the service, or nil for any other file.
  public var reserved: Reserved? { Reserved(rawValue: text) }

  /// Compares two names byte by byte: Swift takes canonically equivalent texts for equal.
  public static func == (left: Filename, right: Filename) -> Bool {
    left.text.utf8.elementsEqual(right.text.utf8)
  }

  /// Mixes the bytes into a hash.
  public func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }

  /// True if the name starts with `.`: in a user's directory only its author and editors read such a
  /// file.
  public var isHidden: Bool { text.utf8.first == UInt8(ascii: ".") }
}
