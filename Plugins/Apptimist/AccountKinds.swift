internal import Cryptography
internal import Threading

/// Tells users from forums, mostly without asking the store: a user stays one for ever.
final class AccountKinds: Sendable {
  /// What an account is.
  enum Kind: Hashable, Sendable {
    case user, forum
  }

  /// How many users are remembered, of 32 bytes each.
  private static let capacity = 32_768

  private let store: ApptimistStore
  private let users = Lock<Set<EncryptionPublicKey>>([])

  init(_ store: ApptimistStore) {
    self.store = store
  }

  /// Whether a user is known to have this key, without asking the store.
  func isKnownUser(_ key: EncryptionPublicKey) -> Bool { users.withLock { $0.contains(key) } }

  /// What has this key; nil: nothing.
  func kind(of key: EncryptionPublicKey) async throws -> Kind? {
    if isKnownUser(key) { return .user }
    guard let account = try await store.account(key) else { return nil }
    guard account.isUser else { return .forum }
    users.withLock { users in
      // Who is asked for often soon is here again.
      if users.count >= Self.capacity { users.removeAll(keepingCapacity: true) }
      users.insert(key)
    }
    return .user
  }
}
