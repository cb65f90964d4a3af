package import ApptimistProtocol
package import Cryptography

/// The values that a session of version 2 needs beside a ``SessionSetup``.
package struct Version2Setup: Sendable {
  /// The service's ephemeral pair, which serves this connection alone.
  let ephemeral: EncryptionKeyPair
  /// The versions that the device offered.
  let offer: Version2.VersionOffer
  /// The time of the upgrade, in seconds since 1970.
  let time: UInt64
  /// The most items of a page.
  let pageMax: UInt16

  /// Describes a session.
  ///
  /// - Parameters:
  ///   - ephemeral: the service's ephemeral pair, which serves this connection alone.
  ///   - offer: the versions that the device offered.
  ///   - time: the time of the upgrade, in seconds since 1970.
  ///   - pageMax: the most items of a page.
  package init(
    ephemeral: EncryptionKeyPair, offer: Version2.VersionOffer, time: UInt64, pageMax: UInt16
  ) {
    (self.ephemeral, self.offer, self.time, self.pageMax) = (ephemeral, offer, time, pageMax)
  }
}
