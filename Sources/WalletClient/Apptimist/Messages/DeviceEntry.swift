public import ApptimistProtocol
public import Cryptography

/// An entry of the message stream.
public enum DeviceEntry: Sendable, Hashable {
  /// A message for the user.
  case message(DeviceMessage)
  /// The user's devices are to forget the content of a message, as another device has requested. In version 1 the entry may
  /// come again after a reconnection.
  case truncation(MessageID, cursor: DeviceCursor)
  /// The service has dropped entries that the device never got.
  case gap(cursor: DeviceCursor)

  /// The cursor after the entry, to be stored together with it.
  public var cursor: DeviceCursor {
    switch self {
    case .message(let message): message.cursor
    case .truncation(_, let cursor), .gap(let cursor): cursor
    }
  }
}

/// A message as it came, with its data still sealed.
public struct DeviceMessage: Sendable, Hashable {
  /// The message's identifier.
  public let id: MessageID
  /// The time of writing, as the sender states it, in seconds since 1970.
  public let time: UInt64
  /// The recipient: the user, or a forum.
  public let to: EncryptionPublicKey
  /// The author. In a message that came through a forum, only a signature or the service vouches for it.
  public let from: EncryptionPublicKey
  /// The sealed data; ``Device/open(_:forum:takesDoubtful:)`` opens it.
  public let box: [UInt8]
  /// The cursor after the message, to be stored together with it.
  public let cursor: DeviceCursor

  init(_ message: PDU.Message, data: ArraySlice<UInt8>, id: MessageID, cursor: DeviceCursor) {
    self.id = id
    self.cursor = cursor
    time = message.time
    to = message.to
    from = message.from
    box = Array(data)
  }

  /// The message's fields as it came to a user.
  func header(for recipient: EncryptionPublicKey) -> PDU.Message {
    PDU.Message(time: time, recipient: recipient, to: to, from: from)
  }
}

/// The protection that a message has, or was given.
public enum MessageProtection: Sendable, Hashable {
  /// Version 2: sealed by its author for the user alone.
  case sealed
  /// Version 2: a post that its author has signed.
  case signed
  /// A post that nobody has signed.
  case unsigned
  /// Version 1's box.
  case version1
  /// Version 1's box, of somebody who has closed version 1: from before that, or forged.
  case doubtful
}

/// A message that is ready to be sent, any number of times, also by another ``Device``: its identifier stays, so that the
/// service queues it once.
public struct OutgoingMessage: Sendable, Hashable {
  /// The message's identifier.
  public let id: MessageID
  let header: PDU.Message
  let box: [UInt8]

  /// The recipient.
  public var to: EncryptionPublicKey { header.to }

  /// The time of writing, in seconds since 1970.
  public var time: UInt64 { header.time }

  /// The protection that the message was given. An app shows its user if it is ``MessageProtection/version1``.
  public var protection: MessageProtection {
    switch Version2.Sealing.kind(of: box) {
    case .message: .sealed
    case .post, .copy: .signed
    case nil: .version1
    }
  }

  init(_ header: PDU.Message, box: [UInt8]) {
    self.header = header
    self.box = box
    id = MessageID(of: header, data: box[...])
  }

  /// Reads what ``stored`` was.
  ///
  /// - Returns: nil for anything else.
  public init?(stored bytes: [UInt8]) {
    guard case .message(let header)? = try? PDU(decoding: Array(bytes.prefix(Self.headerLength)))
    else { return nil }
    self.init(header, box: Array(bytes.dropFirst(Self.headerLength)))
  }

  /// The message, to be stored until it was sent; nothing in it is secret.
  public var stored: [UInt8] { PDU.message(header).encoded() + box }

  private static let headerLength = 2 + 8 + 3 * EncryptionPublicKey.byteCount
}

/// A message that was opened.
public struct OpenedMessage: Sendable, Hashable {
  /// The data that its author sealed.
  public let data: [UInt8]
  /// The protection that it came under.
  public let protection: MessageProtection
}

/// Where an app is in the message stream: what it has stored, and where the next connection goes on.
///
/// An app stores it together with the entry, in one transaction, and gives it to the next ``Device``: then each
/// entry comes once. Version 1 goes on after the last message, version 2 after a position.
public struct DeviceCursor: Sendable, Hashable {
  /// The identifier of this installation, under which the service keeps its acknowledgements.
  public let installation: Version2.DeviceID
  /// The epoch of ``position``, or 0 if none is known.
  public internal(set) var epoch: UInt64 = 0
  /// The position of the last entry.
  public internal(set) var position: UInt64 = 0
  /// The identifier of the last message; zero before the first.
  public internal(set) var head: MessageID

  /// Makes the cursor of an installation that speaks version 2 for the first time.
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

  /// The cursor as printable ASCII, to be stored.
  public var text: String { "\(installation.hex) \(epoch) \(position) \(head.hex)" }
}

/// The flow of a device's message stream: how much of it waits to be read, and why it is paused.
struct StreamFlow {
  private struct PauseReasons: OptionSet {
    let rawValue: UInt8

    /// Too much waits to be read.
    static let full = PauseReasons(rawValue: 1)
    /// The app requested it.
    static let requested = PauseReasons(rawValue: 2)
  }

  /// The bytes that may wait before the service is asked to pause.
  private let limit: Int
  private var buffered = 0
  private var reasons: PauseReasons = []

  init(limit: Int) { self.limit = limit }

  /// True if the stream is paused.
  var isPaused: Bool { !reasons.isEmpty }

  /// True if the service goes on sending although it was asked to pause; then nothing more is read.
  var isOverfull: Bool { buffered > limit * 16 }

  /// Counts an entry that came.
  ///
  /// - Returns: whether the stream is to pause or to go on, or nil if nothing changes.
  mutating func came(_ entry: DeviceEntry) -> Bool? {
    buffered += Self.cost(entry)
    return buffered > limit ? set(.full, true) : nil
  }

  /// Counts an entry that the app has read.
  ///
  /// - Returns: whether the stream is to pause or to go on, or nil if nothing changes.
  mutating func consumed(_ entry: DeviceEntry) -> Bool? {
    buffered -= Self.cost(entry)
    return buffered <= limit / 2 ? set(.full, false) : nil
  }

  /// Records whether the app wants the stream to pause.
  ///
  /// - Returns: whether the stream is to pause or to go on, or nil if nothing changes.
  mutating func setPaused(_ isPaused: Bool) -> Bool? { set(.requested, isPaused) }

  private mutating func set(_ reason: PauseReasons, _ holds: Bool) -> Bool? {
    let wasPaused = isPaused
    if holds { reasons.insert(reason) } else { reasons.remove(reason) }
    guard isPaused != wasPaused else { return nil }
    return isPaused
  }

  private static func cost(_ entry: DeviceEntry) -> Int {
    switch entry {
    case .message(let message): message.box.count + 256
    case .truncation, .gap: 64
    }
  }
}
