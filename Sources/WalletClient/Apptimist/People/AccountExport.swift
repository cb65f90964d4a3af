public import ApptimistProtocol
public import Cryptography
public import Formats

internal import HTTPClient

/// An account with its people and messages, in a file that a passphrase opens.
public struct AccountExport: Sendable, Hashable, Codable {
  private static let head = Array("apptimist export 1\n".utf8)
  /// The longest passphrase, in UTF-16 code units: a terminal's line.
  private static let longestPassphrase = 4096

  /// The account.
  public let account: AccountSecrets
  /// Whom the user allows and blocks.
  public let people: PrivateFile
  /// The messages: objects with `time`, `from`, `to`, `messageID` and `content`.
  public let messages: [JSONValue]

  /// Makes an export.
  public init(_ account: AccountSecrets, people: PrivateFile, messages: [JSONValue] = []) {
    self.account = account
    self.people = people
    self.messages = messages
  }

  /// Returns a passphrase that nobody guesses: 30 random digits in groups of five.
  public static func makePassphrase() -> String {
    let groups = (0..<6).map { _ in String(Int.random(in: 100_000..<200_000)).dropFirst() }
    return groups.joined(separator: " ")
  }

  /// Seals the export, which takes about a second.
  ///
  /// - Parameters:
  ///   - passphrase: the passphrase, in which blanks don't count.
  ///   - iterations: the price of each guess; readers accept 100,000 to 10,000,000.
  ///   - salt: 32 random bytes, which only tests give.
  /// - Returns: the file's content; nil if the passphrase has more than 4,096 characters.
  public func sealed(
    by passphrase: String, iterations: UInt32 = 1_000_000,
    salt: [UInt8] = SecureRandom.bytes(32)
  ) -> [UInt8]? {
    let number = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: iterations >> $0) }
    return Self.key(passphrase, salt, iterations)
      .map { Self.head + number + salt + $0.seal(CanonicalJSON.encode(self), nonce: BoxNonce()) }
  }

  /// Opens an export, which takes about a second, or ten times as long if the file wants it.
  ///
  /// - Returns: nil if it is none, was changed, or has another passphrase.
  public init?(opening file: [UInt8], by passphrase: String) {
    let start = Self.head.count
    guard file.starts(with: Self.head), file.count >= start + 36 else { return nil }
    let iterations = UInt32(file[start..<start + 4].number)
    guard (100_000...10_000_000).contains(iterations),
      let key = Self.key(passphrase, Array(file[start + 4..<start + 36]), iterations),
      let plain = key.open(file[(start + 36)...], nonce: BoxNonce()),
      let export = CanonicalJSON.decode(Self.self, plain)
    else { return nil }
    self = export
  }

  private static func key(_ passphrase: String, _ salt: [UInt8], _ iterations: UInt32) -> BoxKey? {
    let signs = UnicodeText.compatible(passphrase, upTo: longestPassphrase)?.unicodeScalars
    guard let signs = signs?.filter({ !$0.properties.isWhitespace }) else { return nil }
    return BoxKey(
      passphrase: String(String.UnicodeScalarView(signs)), salt: salt, iterations: iterations)
  }
}

/// The secrets that another device of the same user needs: the account's secret keys, and the service.
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
    let key = identity.encryptionKey
    let signs = identity.authenticationKey
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
  /// Returns the secrets that another device of the user needs. Anybody who has them has the account, for good.
  ///
  /// - Throws: the errors of ``user(_:)``.
  public func secrets() async throws(DeviceError) -> AccountSecrets {
    let name = try await user(user)?.name ?? ""
    return AccountSecrets(participant.keys, name: name, at: service, url)
  }
}
