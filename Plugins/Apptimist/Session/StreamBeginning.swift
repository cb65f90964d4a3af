package import ApptimistProtocol
package import Cryptography

/// A device of version 2 that logs in, all of whose proofs were verified.
package struct StreamRequest: Sendable {
  package let user: EncryptionPublicKey
  /// The key with which its signature was verified.
  package let authenticationKey: AuthenticationPublicKey
  /// The installation of the app.
  package let device: Version2.DeviceID
  /// True if version 1 is to be closed to the account.
  package let closes: Bool
  /// The number of messages to look back at most, or 0 for all.
  package let max: Int
  /// The epoch to which ``after`` belongs.
  package let epoch: UInt64
  /// The position that the device has, or nil for the one that it has acknowledged.
  package let after: UInt64?
  /// The last message of a device that comes from version 1, or zero.
  package let head: MessageID

  /// Takes a login whose signature was verified with a key.
  package init(_ login: Version2.Login, authenticationKey: AuthenticationPublicKey) {
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
package struct StreamBeginning: Hashable, Sendable {
  /// The epoch in which positions are given.
  package let epoch: UInt64
  /// The oldest entry that is there; behind the newest one if none is.
  package let first: StreamPosition
  /// The newest position given.
  package let last: StreamPosition
  /// The position behind which the stream begins.
  package let start: StreamPosition
  /// True if version 1 is closed to the account.
  package let isClosed: Bool

  /// Describes a beginning.
  package init(
    epoch: UInt64, first: StreamPosition, last: StreamPosition, start: StreamPosition,
    isClosed: Bool
  ) {
    (self.epoch, self.first, self.last, self.start) = (epoch, first, last, start)
    self.isClosed = isClosed
  }
}
