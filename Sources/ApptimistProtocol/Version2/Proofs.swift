public import Cryptography

extension Version2 {
  /// A proof that a device has the secret half of a key: 32 bytes.
  public struct Possession: FixedBytes {
    private var words = Digest256<Possession>()

    /// Makes 32 zero bytes, which prove nothing.
    public init() {}
  }

  /// The bytes that a user signs to vouch for another.
  public static func vouch(
    for subject: EncryptionPublicKey, by voucher: EncryptionPublicKey,
    at service: EncryptionPublicKey
  ) -> [UInt8] { label("vouch") + service.bytes + voucher.bytes + subject.bytes }

  /// The nonce by which an ID token is good for an account's keys only: the first 32 bytes of the SHA-512 of
  /// `apptimist.2 nonce`, a zero byte and both public keys, in hexadecimal digits.
  public static func tokenNonce(
    _ encryptionKey: EncryptionPublicKey, _ authenticationKey: AuthenticationPublicKey
  ) -> String {
    let digest = SHA512.hash(label("nonce") + encryptionKey.bytes + authenticationKey.bytes)
    return Hex.encode(digest.bytes.prefix(32))
  }

  /// The bytes that the service signs to say which versions it speaks.
  ///
  /// - Parameters:
  ///   - versions: the versions, ascending, at most 255.
  ///   - service: the service's encryption key.
  public static func service(_ service: EncryptionPublicKey, speaks versions: [UInt8]) -> [UInt8] {
    label("service") + service.bytes + [UInt8(clamping: versions.count)] + versions
  }
}

extension Version2.Handshake {
  /// Proves to the service that the device has the secret half of a key.
  ///
  /// - Returns: nil if the service's ephemeral key is of low order.
  public func possession(of pair: EncryptionKeyPair) -> Version2.Possession? {
    possession(of: pair.publicKey, .agreement(pair, service))?.reveal(Version2.Possession.self)
  }

  /// Returns whether a device has proved that it has the secret half of a key.
  ///
  /// - Parameters:
  ///   - possession: the proof.
  ///   - key: the public half.
  ///   - ephemeral: the service's ephemeral pair.
  public func verifies(
    _ possession: Version2.Possession, of key: EncryptionPublicKey,
    with ephemeral: EncryptionKeyPair
  ) -> Bool {
    self.possession(of: key, .agreement(ephemeral, key))?.begins(with: possession) ?? false
  }

  private func possession(
    of key: EncryptionPublicKey, _ agreement: SecretDigest.Part
  ) -> SecretDigest? {
    SecretDigest(of: [
      .bytes(Version2.label("possession")), agreement, .bytes(hash.bytes + key.bytes),
    ])
  }

  /// The bytes that a user signs to log in.
  public func login(_ user: EncryptionPublicKey) -> [UInt8] {
    Version2.label("login") + hash.bytes + user.bytes
  }

  /// The bytes that a user signs to delete the account.
  public func leave(_ user: EncryptionPublicKey) -> [UInt8] {
    Version2.label("leave") + hash.bytes + user.bytes
  }

  /// The bytes that are signed with a new account's authentication key to make it.
  public func new(
    _ key: EncryptionPublicKey, _ authenticationKey: AuthenticationPublicKey
  ) -> [UInt8] { Version2.label("new") + hash.bytes + key.bytes + authenticationKey.bytes }
}
