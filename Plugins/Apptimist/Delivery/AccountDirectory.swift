internal import Cryptography
internal import Platform

/// Resolves recipients, mostly from memory: asking the store would take longer than to deliver a post to
/// a few readers.
///
/// A user stays one until the account is deleted: where another node has done that, no copy is made. All changes of forums
/// go through this process: a change that is on disk is applied here before its reply is sent, so that a device which has the
/// reply finds the forum changed. Where other nodes share the store they don't, and what is remembered of a forum is
/// compared with the store as the copies of a post are written.
final class AccountDirectory: Sendable {
  private struct State {
    var users: Set<EncryptionPublicKey> = []
    var forums: [EncryptionPublicKey: Forum] = [:]
    /// The number of keys that the forums have.
    var forumKeys = 0
    /// The number of changes of forums that there were.
    var changes = 0

    mutating func remove(_ account: EncryptionPublicKey) {
      users.remove(account)
      forumKeys -= forums.removeValue(forKey: account)?.keyCount ?? 0
    }
  }

  /// The most users that are remembered, of 32 bytes each.
  private static let userCapacity = 32_768
  /// The most keys of forums that are remembered, of 32 bytes each.
  private static let forumKeyCapacity = 65_536

  /// True if other nodes change forums, too.
  let isShared: Bool
  private let store: ApptimistStore
  private let state = Lock(State())

  init(_ store: ApptimistStore, isShared: Bool = false) {
    self.isShared = isShared
    self.store = store
  }

  /// Looks a key up in memory.
  ///
  /// - Returns: the user or forum with this key, or nil if none is remembered.
  func remembered(_ key: EncryptionPublicKey) -> MessageRecipient? {
    state.withLock { state in
      state.users.contains(key) ? .user : state.forums[key].map(MessageRecipient.forum)
    }
  }

  /// Looks a key up in the store.
  ///
  /// - Returns: the user or forum with this key, or nil if there is none.
  func read(_ key: EncryptionPublicKey) async throws -> MessageRecipient? {
    let changes = state.withLock { $0.changes }
    guard let recipient = try await store.recipient(key) else {
      state.withLock { $0.remove(key) }
      return nil
    }
    state.withLock { state in
      switch recipient {
      case .user:
        // A user who is asked for often is soon here again.
        if state.users.count >= Self.userCapacity { state.users.removeAll(keepingCapacity: true) }
        state.users.insert(key)
      case .forum(let forum):
        // A forum that was read while something changed may be what it was before.
        guard state.changes == changes else { return }
        state.remove(key)
        if state.forumKeys + forum.keyCount > Self.forumKeyCapacity {
          state.forums = [:]
          state.forumKeys = 0
        }
        state.forums[key] = forum
        state.forumKeys += forum.keyCount
      }
    }
    return recipient
  }

  /// Forgets an account that may have changed.
  func forget(_ account: EncryptionPublicKey) {
    state.withLock { state in
      state.changes += 1
      state.remove(account)
    }
  }
}

extension AccountDirectory {
  /// Forgets all accounts, as another program may have changed any of them.
  func forgetAll() {
    state.withLock { state in
      state.changes += 1
      state.users = []
      state.forums = [:]
      state.forumKeys = 0
    }
  }
}

extension Forum {
  /// The number of keys by which it is known, its author's and its own among them.
  fileprivate var keyCount: Int { 2 + editors.count + moderators.count + subscribers.count }
}
