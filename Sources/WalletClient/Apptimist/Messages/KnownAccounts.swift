internal import Cryptography

/// The accounts that a device remembers.
struct KnownAccounts {
  private var accounts: [EncryptionPublicKey: KnownAccount]

  init(_ accounts: [KnownAccount]) {
    self.accounts = Dictionary(accounts.map { ($0.key, $0) }) { _, last in last }
  }

  /// The memory of an account.
  subscript(_ key: EncryptionPublicKey) -> KnownAccount { accounts[key] ?? KnownAccount(key) }

  /// Learns what a service of version 2 says of an account. What was seen before stays.
  ///
  /// - Returns: the account if something is new.
  mutating func learn(_ user: DeviceUser) -> KnownAccount? {
    guard let kind = user.kind else { return nil }
    return change(user.key) { account in
      account.kind = kind
      account.authenticationKey = account.authenticationKey ?? user.authenticationKey
      account.isClosed = account.isClosed || user.isClosed
      account.isEscrowed = account.isEscrowed || user.isEscrowed
    }
  }

  /// Learns that an account is closed to version 1.
  mutating func learnClosed(_ key: EncryptionPublicKey) -> KnownAccount? {
    change(key) { $0.isClosed = true }
  }

  /// Learns that a user seals in version 2.
  mutating func learnSealed(_ key: EncryptionPublicKey) -> KnownAccount? {
    change(key) { $0.hasSealed = true }
  }

  /// Learns the key of signatures that the user has accepted.
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
