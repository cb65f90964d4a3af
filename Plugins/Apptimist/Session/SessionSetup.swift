internal import ApptimistProtocol
internal import Cryptography

/// The keys and limits of one session.
struct SessionSetup: Sendable {
  /// The service's key pair for headers and files.
  let encryption: EncryptionKeyPair
  /// The service's public keys.
  let identity: ServiceIdentity
  /// The device's key for this connection, from the query of its URI.
  let ephemeralKey: EncryptionPublicKey
  /// The URI to which the device connected, without a query.
  let uri: String
  let limits: SessionLimits
  /// The time for which the session is silent if it is refused, before it is closed.
  let silence: Duration

  /// Returns whether a user or a forum can have a key. A forum's key needs no more: it cannot log in, and only those
  /// who give the service its secret have anything boxed with it.
  func isFit(_ key: EncryptionPublicKey) -> Bool {
    !key.isLowOrder && key != identity.encryptionKey && key != ephemeralKey
  }
}
