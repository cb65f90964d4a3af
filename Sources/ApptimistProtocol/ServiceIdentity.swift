public import Cryptography

/// The public half of a service's keys: what a device has to know beforehand (page "Keys and
/// nonces"), with the signature that ties them together.
public struct ServiceIdentity: Hashable, Sendable {
  /// What headers, and the data of files, are boxed with.
  public let encryptionKey: EncryptionPublicKey
  /// What ``signature`` is verified with.
  public let authenticationKey: AuthenticationPublicKey
  /// Of the service, over ``encryptionKey``.
  public let signature: Signature

  /// Takes an identity that is known.
  ///
  /// - Returns: nil if the signature isn't valid, or the encryption key is of low order.
  public init?(
    encryptionKey: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey,
    signature: Signature
  ) {
    guard !encryptionKey.isLowOrder,
      authenticationKey.verifies(signature, over: encryptionKey)
    else { return nil }
    self.encryptionKey = encryptionKey
    self.authenticationKey = authenticationKey
    self.signature = signature
  }

  /// The public half of a service's own pairs.
  public init(encryption: EncryptionKeyPair, authentication: AuthenticationKeyPair) {
    encryptionKey = encryption.publicKey
    authenticationKey = authentication.publicKey
    signature = authentication.sign(encryption.publicKey)
  }

  /// The nonce of every data box: the first 24 bytes of ``signature``.
  public var dataNonce: BoxNonce { BoxNonce(prefixOf: signature) }
}
