internal import ApptimistProtocol
internal import Cryptography

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
struct StreamBeginning: Hashable, Sendable {
  /// The epoch in which positions are given.
  let epoch: UInt64
  /// The oldest entry that is there; behind the newest one if none is.
  let first: StreamPosition
  /// The newest position given.
  let last: StreamPosition
  /// The position behind which the stream begins.
  let start: StreamPosition
  /// True if version 1 is closed to the account.
  let isClosed: Bool
}
