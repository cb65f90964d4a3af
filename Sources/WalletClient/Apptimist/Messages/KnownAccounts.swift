public import ApptimistProtocol
public import Cryptography

/// The accounts that a device remembers.
struct KnownAccounts {
  private var accounts: [EncryptionPublicKey: KnownAccount]

  init(_ accounts: [KnownAccount]) {
    self.accounts = Dictionary(accounts.map { ($0.key, $0) }) { _, last in last }
  }

  /// The memory of an account.
  subscript(_ key: EncryptionPublicKey) -> KnownAccount { accounts[key] ?? KnownAccount(key) }

  /// Records a service's facts about an account, in version 2. Earlier facts stay.
  ///
  /// - Returns: the account if something is new.
  mutating func record(_ user: DeviceUser) -> KnownAccount? {
    guard let kind = user.kind else { return nil }
    return change(user.key) { account in
      account.kind = kind
      account.authenticationKey = account.authenticationKey ?? user.authenticationKey
      account.isClosed = account.isClosed || user.isClosed
      account.isEscrowed = account.isEscrowed || user.isEscrowed
    }
  }

  /// Records that an account is closed to version 1.
  mutating func recordClosed(_ key: EncryptionPublicKey) -> KnownAccount? {
    change(key) { $0.isClosed = true }
  }

  /// Records that a user seals in version 2.
  mutating func recordSealed(_ key: EncryptionPublicKey) -> KnownAccount? {
    change(key) { $0.hasSealed = true }
  }

  /// Records the key of signatures that the user has accepted.
  mutating func accept(
    _ key: AuthenticationPublicKey, of user: EncryptionPublicKey
  ) -> KnownAccount? { change(user) { $0.authenticationKey = key } }

  private mutating func change(
    _ key: EncryptionPublicKey, _ body: (inout KnownAccount) -> Void
  ) -> KnownAccount? {
    var account = self[key]
    body(&account)
    guard account != self[key] else { return nil }
    accounts[key] = account
    return account
  }
}

/// A device's memory of a user or forum, so that no service can deny the facts later.
public struct KnownAccount: Sendable, Hashable {
  /// The user or forum.
  public let key: EncryptionPublicKey
  /// The key of its signatures, as it was seen first; nil before.
  public internal(set) var authenticationKey: AuthenticationPublicKey?
  /// The kind, a user or a forum; nil if no service of version 2 has said so.
  public internal(set) var kind: Version2.User.Kind?
  /// True if it was seen closed to version 1.
  public internal(set) var isClosed = false
  /// True if it was seen that the service holds the forum's secret.
  public internal(set) var isEscrowed = false
  /// True if a message sealed in version 2 has come from there.
  public internal(set) var hasSealed = false

  init(_ key: EncryptionPublicKey) { self.key = key }

  /// Reads what ``text`` was.
  ///
  /// - Returns: nil for anything else.
  public init?(text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 4, let key = EncryptionPublicKey(hex: words[0]),
      let kind = UInt8(words[2]), let flags = UInt8(words[3]), flags < 8,
      words[1] == "-" || AuthenticationPublicKey(hex: words[1]) != nil
    else { return nil }
    self.key = key
    authenticationKey = AuthenticationPublicKey(hex: words[1])
    self.kind = Version2.User.Kind(rawValue: kind)
    isClosed = flags & 1 != 0
    isEscrowed = flags & 2 != 0
    hasSealed = flags & 4 != 0
  }

  /// The account as printable ASCII, to be stored.
  public var text: String {
    let flags = (isClosed ? 1 : 0) + (isEscrowed ? 2 : 0) + (hasSealed ? 4 : 0)
    return "\(key.hex) \(authenticationKey?.hex ?? "-") \(kind?.rawValue ?? 0) \(flags)"
  }
}
