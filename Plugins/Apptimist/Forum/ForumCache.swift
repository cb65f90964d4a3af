internal import Cryptography
internal import Threading

/// Who is what in the forums that were posted to lately: a post needn't ask the store, which would
/// take it longer than to be queued for a few readers.
///
/// All changes of forums go through this process. One that is on disk is told here before it is
/// answered, so that who has the answer finds the forum changed.
final class ForumCache: Sendable {
  private struct State {
    var forums: [EncryptionPublicKey: Forum] = [:]
    /// How many keys they have.
    var keys = 0
    /// How many changes there were.
    var changes = 0
  }

  /// How many keys are remembered, of 32 bytes each.
  private static let capacity = 65_536

  private let store: ApptimistStore
  private let state = Lock(State())

  init(_ store: ApptimistStore) {
    self.store = store
  }

  /// Who is what in a forum; nil if there is no such forum.
  func forum(_ key: EncryptionPublicKey) async throws -> Forum? {
    let (known, changes) = state.withLock { ($0.forums[key], $0.changes) }
    if let known { return known }
    guard let forum = try await store.forum(key) else { return nil }
    state.withLock { state in
      // What was read while something changed may be what it was before.
      guard state.changes == changes, state.forums[key] == nil else { return }
      if state.keys + forum.keyCount > Self.capacity {
        // What is asked for often soon is here again.
        state.forums = [:]
        state.keys = 0
      }
      state.forums[key] = forum
      state.keys += forum.keyCount
    }
    return forum
  }

  /// Forgets a forum that may have changed.
  func forget(_ key: EncryptionPublicKey) {
    state.withLock { state in
      state.changes += 1
      state.keys -= state.forums.removeValue(forKey: key)?.keyCount ?? 0
    }
  }
}

extension Forum {
  /// How many keys it is known by, its author's and its own among them.
  fileprivate var keyCount: Int {
    2 + editors.count + moderators.count + subscribers.count
  }
}
