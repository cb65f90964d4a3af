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
  /// The kind, a user or a forum; nil in version 1, which doesn't tell.
  public let kind: Version2.User.Kind?
  /// The key of its signatures, as the service says; nil in version 1.
  public let authenticationKey: AuthenticationPublicKey?
  /// True if the service says that it is closed to version 1.
  public let isClosed: Bool
  /// True if the service says that it holds the forum's secret.
  public let isEscrowed: Bool
  /// True if the service told another ``authenticationKey`` before, which is the one that counts.
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
