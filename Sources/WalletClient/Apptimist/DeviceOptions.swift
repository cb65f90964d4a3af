public import Cryptography
public import HTTPClient

internal import ApptimistProtocol

/// The times and limits of a ``Device``.
public struct DeviceOptions: Sendable {
  /// The most messages that the service looks back when the device logs in, or zero for all that it has.
  public var history: UInt16 = 0
  /// True if every login closes version 1 to the account, for ever: to be set once all devices of the app's users speak
  /// version 2.
  public var closesVersion1 = false
  /// The longest duration of a request, from the call on, through all reconnections.
  public var requestTimeout: Duration = .seconds(60)
  /// The longest duration of a login, from the handshake on.
  public var joinTimeout: Duration = .seconds(30)
  /// The longest first pause before another attempt. Each further pause is twice as long.
  public var retryDelay: Duration = .milliseconds(500)
  /// The longest pause before another attempt.
  public var longestRetryDelay: Duration = .seconds(60)
  /// The bytes of messages that may wait to be taken before the service is told to pause.
  public var streamBuffer = 1 << 20
  /// The longest data of a message or a file that is taken, in bytes, without its box.
  public var dataLimit = 1 << 20
  /// The time-outs and limits of the connection.
  public var webSocket = WebSocketOptions()

  /// Makes the default options.
  public init() {}
}

/// The two key pairs of a user or a forum, whose identity is the public encryption key.
///
/// The pairs are made on the device and never leave it. An app keeps them where the system keeps secrets. A user who
/// loses them loses the account.
public struct DeviceKeys: Sendable {
  /// The pair for boxes (X25519).
  public let encryption: EncryptionKeyPair
  /// The pair for signatures (Ed25519).
  public let authentication: AuthenticationKeyPair

  /// Takes pairs that were made before.
  ///
  /// - Parameters:
  ///   - encryption: the pair for boxes.
  ///   - authentication: the pair for signatures.
  public init(encryption: EncryptionKeyPair, authentication: AuthenticationKeyPair) {
    self.encryption = encryption
    self.authentication = authentication
  }

  /// Makes new pairs.
  public static func generate() -> DeviceKeys {
    DeviceKeys(encryption: .generate(), authentication: .generate())
  }

  /// The nonce that an ID token for the account must have: the app asks its OpenID Connect issuer for a token with it.
  public var tokenNonce: String { Version2.tokenNonce(user, authentication.publicKey) }

  /// The user or forum that the pairs belong to.
  public var user: EncryptionPublicKey { encryption.publicKey }
}
