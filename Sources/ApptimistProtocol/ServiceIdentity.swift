public import Cryptography

/// The public half of a service's keys, which devices have to know beforehand (page "Keys and nonces"),
/// with the signature that ties them together.
public struct ServiceIdentity: Hashable, Sendable {
  /// The key for the boxes around headers and the data of files.
  public let encryptionKey: EncryptionPublicKey
  /// The key with which ``signature`` is verified.
  public let authenticationKey: AuthenticationPublicKey
  /// The service's signature over ``encryptionKey``.
  public let signature: Signature

  /// Takes an identity that is known.
  ///
  /// - Returns: nil if the signature is not valid, or the encryption key is of low order.
  public init?(
    encryptionKey: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey,
    signature: Signature
  ) {
    guard !encryptionKey.isLowOrder,
      authenticationKey.verifies(signature, over: encryptionKey)
    else { return nil }
    (self.encryptionKey, self.authenticationKey) = (encryptionKey, authenticationKey)
    self.signature = signature
  }

  /// Makes the public half of a service's own pairs.
  public init(encryption: EncryptionKeyPair, authentication: AuthenticationKeyPair) {
    encryptionKey = encryption.publicKey
    authenticationKey = authentication.publicKey
    signature = authentication.sign(encryption.publicKey)
  }

  /// The nonce of every data box: the first 24 bytes of ``signature``.
  public var dataNonce: BoxNonce { BoxNonce(prefixOf: signature) }
}
