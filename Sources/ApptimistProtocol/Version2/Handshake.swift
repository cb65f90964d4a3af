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
    /// - Parameter offer: the versions that the device offered.
    public init(
      with identity: ServiceIdentity, device: EncryptionPublicKey, service: EncryptionPublicKey,
      offer: VersionOffer
    ) {
      self.device = device
      self.service = service
      hash = SHA512.hash(
        Version2.label("handshake") + identity.encryptionKey.bytes
          + identity.authenticationKey.bytes
          + device.bytes + service.bytes + [UInt8(offer.versions.count)] + offer.versions)
    }

    /// Makes the device's channel.
    ///
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

extension Version2 {
  /// The versions that a device offers as WebSocket subprotocols `apptimist.n`, in its order.
  public struct VersionOffer: Hashable, Sendable {
    /// The most versions that are taken.
    public static let most = 16

    /// The versions, each from 2 to 255.
    public let versions: [UInt8]

    /// An offer of this version alone.
    public static let version2 = VersionOffer(unchecked: [Version2.number])

    /// Takes versions.
    ///
    /// - Returns: nil if there are more than ``most``, or one of them is below 2.
    public init?(_ versions: [UInt8]) {
      guard versions.count <= Self.most, versions.allSatisfy({ $0 >= 2 }) else { return nil }
      self.init(unchecked: versions)
    }

    /// Finds the versions among subprotocols, and passes over all others.
    ///
    /// - Parameter subprotocols: the subprotocols that the device offers, in its order.
    /// - Returns: nil if there are more than ``most`` versions among them.
    public init?(subprotocols: [Substring]) { self.init(subprotocols.compactMap(Self.version)) }

    private init(unchecked versions: [UInt8]) { self.versions = versions }

    /// The version of a subprotocol, whose number is decimal and has no leading zero; nil for any other.
    private static func version(of subprotocol: Substring) -> UInt8? {
      let prefix = "apptimist."
      guard subprotocol.hasPrefix(prefix) else { return nil }
      let digits = subprotocol.dropFirst(prefix.count)
      guard let version = UInt8(digits), version >= 2, digits == String(version) else { return nil }
      return version
    }
  }
}

extension Version2 {
  /// The first message of a connection: the service's ephemeral key, and the box of `hello`.
  public struct FirstMessage: Sendable {
    /// The service's ephemeral key.
    public let service: EncryptionPublicKey
    /// The box.
    public let box: ArraySlice<UInt8>

    /// Takes a message.
    ///
    /// - Returns: nil if it is shorter than a key.
    public init?(_ message: [UInt8]) {
      guard let key = EncryptionPublicKey(message.prefix(EncryptionPublicKey.byteCount)) else {
        return nil
      }
      service = key
      box = message.dropFirst(EncryptionPublicKey.byteCount)
    }
  }
}

/// Version 2 of the protocol: its handshake, boxes, PDUs, proofs and sealed messages.
///
/// The parts that it shares with version 1 are elsewhere: ``PDU/Message`` and its like, ``MessageID``, names and errors.
public enum Version2 {
  /// The first byte of every header.
  public static let number: UInt8 = 2
  /// The WebSocket subprotocol by which a device asks for this version, and a service takes it.
  public static let subprotocol = "apptimist.2"
  /// The longest token of `new`, in bytes.
  public static let longestToken = 8_192

  /// The bytes that begin whatever is hashed or signed for one purpose.
  static func label(_ purpose: String) -> [UInt8] { [UInt8]("apptimist.2 \(purpose)".utf8) + [0] }
}

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
  /// - Parameter versions: the versions, ascending, at most 255.
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
