internal import ApptimistProtocol
internal import Cryptography

/// The result of a query.
enum Reply: Sendable {
  /// Tells whether the ephemeral key is this connection's; false also if a login with it was noted before.
  case claimed(Bool)
  /// The entry of the mailbox after which the stream begins.
  case started(StreamPosition)
  /// The positions in the sender's own mailbox, of the messages that were delivered there.
  case posted([StreamPosition])
  /// The result of a truncation.
  case truncated(Truncation)
  /// The users who vouch.
  case vouchers([EncryptionPublicKey])
  /// The accounts that were found.
  case found([Version2.User])
  /// The result of a request about a file.
  case file(FileReply)
  /// The outcome of each post of a device of version 2.
  case outcomes([PostOutcome])
  /// The query is done, or refused with an error.
  case outcome(ErrorCode)
  /// The account, or nil if there is none.
  case account(KnownAccount?)
  /// The place at which the stream begins, or nil if the account has changed meanwhile.
  case began(StreamBeginning?)
  /// The position of an entry, zero if it is not there.
  case position(StreamPosition)
  /// A part of the users who vouch.
  case voucherPage([Version2.Voucher], next: Version2.Cursor)
  /// A part of the accounts that were found.
  case accountPage([Version2.User], next: Version2.Cursor)
  /// The store failed; nothing was changed.
  case failed
}
