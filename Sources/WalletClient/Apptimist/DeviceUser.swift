public import ApptimistProtocol
public import Cryptography

/// A user or a forum that a search found.
public struct DeviceUser: Sendable, Hashable {
  /// The key, which is the identity.
  public let key: EncryptionPublicKey
  /// The name that the user or the forum's author chose.
  public let name: String
  /// The identity at the service's identity provider.
  public let uid: String
  /// The kind, a user or a forum; nil in version 1, which doesn't say.
  public let kind: Version2.User.Kind?
  /// The key of its signatures, as the service says; nil in version 1.
  public let authenticationKey: AuthenticationPublicKey?
  /// True if the service says that it is closed to version 1.
  public let isClosed: Bool
  /// True if the service says that it holds the forum's secret.
  public let isEscrowed: Bool
  /// True if the service named another ``authenticationKey`` before, which is the one that counts.
  public internal(set) var hasChangedKey = false

  init?(_ user: PDU.User) {
    guard !user.key.isZero else { return nil }
    key = user.key
    name = String(decoding: user.name.bytes, as: UTF8.self)
    uid = String(decoding: user.uid.bytes, as: UTF8.self)
    kind = nil
    authenticationKey = nil
    isClosed = false
    isEscrowed = false
  }

  init(_ user: Version2.User) {
    key = user.key
    name = String(decoding: user.name.bytes, as: UTF8.self)
    uid = String(decoding: user.uid.bytes, as: UTF8.self)
    kind = user.kind
    authenticationKey = user.authenticationKey
    isClosed = user.flags.contains(.closed)
    isEscrowed = user.flags.contains(.escrowed)
  }
}

/// A user who vouches for another.
public struct DeviceVoucher: Sendable, Hashable {
  /// The evidence that a user vouches.
  public enum Evidence: Sendable, Hashable {
    /// The service says so: the voucher was given in version 1.
    case service
    /// The user's signature is right.
    case signature
    /// The signature is wrong, or is that of another key than the user had before.
    case forged
  }

  /// The user who vouches.
  public let user: EncryptionPublicKey
  /// The evidence.
  public let evidence: Evidence
}

/// A user at a service: all that a request's proofs and boxes are made of.
struct Participant: Sendable {
  let keys: DeviceKeys
  let service: ServiceIdentity
  /// The key of version 1's boxes around files.
  private let box: BoxKey

  /// Returns nil if the service's key is the user's.
  init?(_ keys: DeviceKeys, at service: ServiceIdentity) {
    guard keys.user != service.encryptionKey,
      let box = BoxKey(own: keys.encryption, peer: service.encryptionKey)
    else { return nil }
    self.keys = keys
    self.service = service
    self.box = box
  }

  var user: EncryptionPublicKey { keys.user }

  /// Makes version 1's box around a file.
  func seal(file content: [UInt8]) -> [UInt8] { box.seal(content, nonce: service.dataNonce) }

  /// Opens version 1's box around a file, or the words of an error.
  func open(file box: [UInt8]) -> [UInt8]? { self.box.open(box, nonce: service.dataNonce) }
}

/// A user's description of the account that the service is to make. In version 2 the account is closed to version 1
/// from then on.
public struct NewAccount: Sendable, Hashable {
  /// The name that others find the user by.
  public let name: AccountName
  /// The user's identity at the service's identity provider, which may be empty if there is no provider.
  public let uid: ShortBytes
  /// The proof of the identity, such as an invitation or an ID token, which may be empty likewise.
  public let token: [UInt8]

  /// Makes the description of an account.
  ///
  /// - Parameters:
  ///   - name: 1 to 255 bytes of UTF-8 without control characters.
  ///   - uid: at most 255 bytes.
  ///   - token: at most 8,192 bytes; in version 1 at most 255.
  /// - Returns: the account, or nil if one of the texts breaks these rules.
  public init?(name: String, uid: String = "", token: String = "") {
    guard let name = AccountName(name), let uid = ShortBytes(uid),
      token.utf8.count <= Version2.longestToken
    else { return nil }
    self.name = name
    self.uid = uid
    self.token = Array(token.utf8)
  }
}
