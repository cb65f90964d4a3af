public import Cryptography

extension Version2 {
  /// A handshake: the keys of both sides, and all that is proved about them.
  public struct Handshake: Hashable, Sendable {
    /// The hash of the service's keys, both ephemeral keys and the versions that were offered: `h` of the page, 64 bytes.
    public let hash: SHA512.Digest
    /// The device's ephemeral key.
    public let device: EncryptionPublicKey
    /// The service's ephemeral key.
    public let service: EncryptionPublicKey

    /// Describes a handshake.
    ///
    /// - Parameters:
    ///   - identity: the service's keys.
    ///   - device: the device's ephemeral key.
    ///   - service: the service's ephemeral key.
    ///   - offer: the versions that the device offered.
    public init(
      with identity: ServiceIdentity, device: EncryptionPublicKey, service: EncryptionPublicKey,
      offer: VersionOffer
    ) {
      (self.device, self.service) = (device, service)
      hash = SHA512.hash(
        Version2.label("handshake") + identity.encryptionKey.bytes
          + identity.authenticationKey.bytes
          + device.bytes + service.bytes + [UInt8(offer.versions.count)] + offer.versions)
    }

    /// Makes the device's channel.
    ///
    /// - Parameters:
    ///   - ephemeral: the device's ephemeral pair.
    ///   - identity: the service's keys.
    /// - Returns: nil if a key of the service is of low order.
    public func deviceChannel(
      _ ephemeral: EncryptionKeyPair, with identity: ServiceIdentity
    ) -> Channel? {
      keys(
        .agreement(ephemeral, identity.encryptionKey), .agreement(ephemeral, service)
      ).map { Channel(sending: BoxKey($0, at: 0), receiving: BoxKey($0, at: 32)) }
    }

    /// Makes the service's channel.
    ///
    /// - Parameters:
    ///   - encryption: the service's encryption pair.
    ///   - ephemeral: the service's ephemeral pair.
    /// - Returns: nil if the device's key is of low order.
    public func serviceChannel(
      _ encryption: EncryptionKeyPair, _ ephemeral: EncryptionKeyPair
    ) -> Channel? {
      keys(.agreement(encryption, device), .agreement(ephemeral, device)).map {
        Channel(sending: BoxKey($0, at: 32), receiving: BoxKey($0, at: 0))
      }
    }

    /// The device's key, and the service's behind it.
    private func keys(_ first: SecretDigest.Part, _ second: SecretDigest.Part) -> SecretDigest? {
      SecretDigest(of: [.bytes(Version2.label("keys")), first, second, .bytes(hash.bytes)])
    }
  }
}
