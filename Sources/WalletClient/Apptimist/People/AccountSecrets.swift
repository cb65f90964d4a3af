public import ApptimistProtocol
public import Cryptography
internal import HTTPClient

/// All that another device of the same user needs: the account's secret keys, and the service.
public struct AccountSecrets: Sendable, Hashable, Codable {
  /// The service of an account.
  public struct Service: Sendable, Hashable, Codable {
    /// The address of its WebSocket.
    public let url: String
    /// The key of its boxes.
    public let encryptionKey: EncryptionPublicKey
    /// The key of its signatures.
    public let authenticationKey: AuthenticationPublicKey
  }

  private let encryptionSecret: Digest256<EncryptionKeyPair>
  private let authenticationSeed: Digest256<AuthenticationKeyPair>
  /// The user's name.
  public let name: String
  /// The service.
  public let service: Service

  init(_ keys: DeviceKeys, name: String, at identity: ServiceIdentity, _ url: WebSocketURL) {
    encryptionSecret = keys.encryption.withSecret { Digest256($0) } ?? Digest256()
    authenticationSeed = keys.authentication.withSeed { Digest256($0) } ?? Digest256()
    self.name = name
    let (key, signs) = (identity.encryptionKey, identity.authenticationKey)
    service = Service(url: "\(url)", encryptionKey: key, authenticationKey: signs)
  }

  /// Returns the user's pairs, for a device at the account's service.
  ///
  /// - Parameter identity: the keys that the service shows.
  /// - Returns: nil if they are those of another service.
  public func keys(at identity: ServiceIdentity) -> DeviceKeys? {
    guard identity.encryptionKey == service.encryptionKey,
      identity.authenticationKey == service.authenticationKey,
      let encryption = EncryptionKeyPair(secret: encryptionSecret.bytes),
      let authentication = AuthenticationKeyPair(seed: authenticationSeed.bytes)
    else { return nil }
    return DeviceKeys(encryption: encryption, authentication: authentication)
  }
}

extension Device {
  /// Returns what another device of the user needs. Whoever has it has the account, for good.
  ///
  /// - Throws: the errors of ``user(_:)``.
  public func secrets() async throws(DeviceError) -> AccountSecrets {
    let name = try await user(user)?.name ?? ""
    return AccountSecrets(participant.keys, name: name, at: service, url)
  }
}
