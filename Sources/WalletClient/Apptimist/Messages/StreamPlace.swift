public import ApptimistProtocol
internal import Cryptography

/// The place in the message stream up to which an app has stored what came.
///
/// An app stores it together with the entry, in one transaction, and gives it to the next ``Device``: then each
/// entry comes once. In version 1 the last message is the place, in version 2 a position.
public struct StreamPlace: Sendable, Hashable {
  /// The identifier of this installation, by which the service knows what it has acknowledged.
  public let installation: Version2.DeviceID
  /// The epoch of ``position``, or 0 if none is known.
  public internal(set) var epoch: UInt64 = 0
  /// The position of the last entry.
  public internal(set) var position: UInt64 = 0
  /// The identifier of the last message; zero before the first.
  public internal(set) var head: MessageID

  /// Makes the place of an installation that speaks version 2 for the first time.
  ///
  /// - Parameter head: the last message that it got in version 1, or zero.
  public init(head: MessageID = MessageID()) {
    installation = Version2.DeviceID(SecureRandom.bytes(Version2.DeviceID.byteCount)) ?? .init()
    self.head = head
  }

  /// Reads what ``text`` was.
  ///
  /// - Returns: nil for anything else.
  public init?(text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 4, let installation = Version2.DeviceID(hex: words[0]),
      let epoch = UInt64(words[1]), let position = UInt64(words[2]),
      let head = MessageID(hex: words[3])
    else { return nil }
    self.installation = installation
    self.epoch = epoch
    self.position = position
    self.head = head
  }

  /// The place as printable ASCII, to be stored.
  public var text: String { "\(installation.hex) \(epoch) \(position) \(head.hex)" }
}
