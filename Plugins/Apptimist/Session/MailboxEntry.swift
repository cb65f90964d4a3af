internal import ApptimistProtocol
internal import Cluster
internal import Cryptography

/// An entry of a stream: a message or a truncation.
struct MailboxEntry: Hashable, Sendable {
  /// The content of an entry.
  enum Content: Hashable, Sendable {
    /// A message with its header in clear and its data as it is boxed.
    case message(header: [UInt8], data: [UInt8])
    case truncation
  }

  let position: MailboxPosition
  /// The message, or the one that is truncated.
  let id: MessageID
  let content: Content
}

extension StreamEntry<MailboxPosition, MailboxEntry> {
  /// Describes an entry of a stream: positions have no gaps.
  init(_ entry: MailboxEntry) {
    self.init(entry, at: entry.position, after: entry.position.previous)
  }
}

/// Some of a mailbox's entries, in order.
struct MailboxPage: Hashable, Sendable {
  var entries: [MailboxEntry]
  /// The position after which to go on.
  var end: MailboxPosition
  /// True if the mailbox had nothing more.
  var isLast: Bool
  /// True if the session may not read on, as its login holds no more.
  var isForbidden = false
}

/// A position in a user's mailbox. The positions of a mailbox follow each other without a gap: 1, 2,
/// 3.
struct MailboxPosition: EntryPosition {
  let rawValue: Int64

  /// The position before the first one.
  static let zero = MailboxPosition(rawValue: 0)

  /// The position right behind this one; the last one stays.
  var next: MailboxPosition { MailboxPosition(rawValue: max(rawValue &+ 1, rawValue)) }

  /// The position right before this one; the lowest one stays.
  var previous: MailboxPosition { MailboxPosition(rawValue: min(rawValue &- 1, rawValue)) }

  static func < (left: MailboxPosition, right: MailboxPosition) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// A device of version 2 that logs in, all of whose proofs were verified.
struct StreamRequest: Sendable {
  let user: EncryptionPublicKey
  /// The key with which its signature was verified.
  let authenticationKey: AuthenticationPublicKey
  /// The installation of the app.
  let device: Version2.DeviceID
  /// True if version 1 is to be closed to the account.
  let closes: Bool
  /// The number of messages to look back at most, or 0 for all.
  let max: Int
  /// The epoch to which ``after`` belongs.
  let epoch: UInt64
  /// The position that the device has, or nil for the one that it has acknowledged.
  let after: UInt64?
  /// The last message of a device that comes from version 1, or zero.
  let head: MessageID

  /// Takes a login whose signature was verified with a key.
  init(_ login: Version2.Login, authenticationKey: AuthenticationPublicKey) {
    user = login.user
    self.authenticationKey = authenticationKey
    device = login.device
    closes = login.flags.contains(.closed)
    max = Int(login.max)
    epoch = login.epoch
    after = login.after == Version2.Login.acknowledged ? nil : login.after
    head = login.head
  }
}

/// The place at which the stream of a device of version 2 begins.
struct StreamStart: Hashable, Sendable {
  /// The epoch in which positions are given.
  let epoch: UInt64
  /// The oldest entry that is there; behind the newest one if none is.
  let first: MailboxPosition
  /// The newest position given.
  let last: MailboxPosition
  /// The position behind which the stream begins.
  let start: MailboxPosition
  /// True if version 1 is closed to the account.
  let isClosed: Bool
}
