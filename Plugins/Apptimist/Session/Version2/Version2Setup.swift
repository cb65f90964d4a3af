internal import ApptimistProtocol
internal import Cryptography

/// The values that a session of version 2 needs beside a ``SessionSetup``.
struct Version2Setup: Sendable {
  /// The service's ephemeral pair, which serves this connection alone.
  let ephemeral: EncryptionKeyPair
  /// The versions that the device offered.
  let offer: Version2.VersionOffer
  /// The time of the upgrade, in seconds since 1970.
  let time: UInt64
  /// The most items of a page.
  let pageMax: UInt16
}
