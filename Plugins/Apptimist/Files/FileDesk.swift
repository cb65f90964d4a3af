internal import ApptimistProtocol
internal import Cryptography
internal import Threading

/// Does what users want done with files, and tells what went wrong by the first error that applies
/// (page "Files").
final class FileDesk: Sendable {
  private let store: ApptimistStore
  private let accounts: AccountKinds
  private let forums: ForumCache
  private let keys: ServiceKeys
  private let locks: Lock<LockTable>
  private let turns: Turns

  init(
    _ store: ApptimistStore, _ accounts: AccountKinds, _ forums: ForumCache, _ turns: Turns,
    keys: ServiceKeys, locks: LockTable
  ) {
    self.store = store
    self.accounts = accounts
    self.forums = forums
    self.turns = turns
    self.keys = keys
    self.locks = Lock(locks)
  }

  /// Does what is wanted; a change is on disk when this returns.
  ///
  /// - Throws: ``StoreError``; then nothing was changed.
  func answer(_ request: FileRequest, in session: SessionID) async throws -> FileAnswer {
    guard let name = Filename(request.filename) else { return .refused(.badFilename) }
    let file = FileAddress(directory: request.directory, name: name)
    guard let kind = try await accounts.kind(of: file.directory),
      let access = try await store.access(of: request.user, to: file.directory)
    else { return .refused(.notFound) }
    guard FileRules.permits(request.act, name, in: kind, with: access) else {
      return .refused(.notPermitted)
    }
    if case .read = request.act { return try await read(file) }
    return try await turns.take(.file(file)) {
      guard locks.withLock({ $0.isFree(file, for: session, at: .now) }) else {
        return .refused(.locked)
      }
      switch request.act {
      case .read: return try await read(file)
      case .lock: return try await lock(file, for: session)
      case .write(let content): return try await write(content, to: file, request.user, session)
      case .remove: return try await remove(file, request.user, session)
      }
    }
  }

  /// Ends the locks of a session that is over.
  func ended(_ session: SessionID) {
    locks.withLock { $0.releaseAll(of: session) }
  }

  /// Forgets a directory that is no more, with its locks.
  func forget(_ directory: EncryptionPublicKey) {
    forums.forget(directory)
    locks.withLock { $0.removeDirectory(directory) }
  }

  private func read(_ file: FileAddress) async throws -> FileAnswer {
    guard let content = try await store.file(file.name, in: file.directory) else {
      return .refused(.notFound)
    }
    return .done(content)
  }

  private func lock(_ file: FileAddress, for session: SessionID) async throws -> FileAnswer {
    switch locks.withLock({ $0.lock(file, for: session, at: .now) }) {
    case .taken: return .refused(.locked)
    case .tooMany: return .refused(.overQuota)
    case .held(let isNew):
      do {
        return .done(try await store.file(file.name, in: file.directory) ?? [])
      } catch {
        if isNew { locks.withLock { $0.release(file, by: session) } }
        throw error
      }
    }
  }

  private func write(
    _ content: [UInt8]?, to file: FileAddress, _ user: EncryptionPublicKey, _ session: SessionID
  ) async throws -> FileAnswer {
    guard let content else { return .refused(.dataDoesNotOpen) }
    defer { changed(file) }
    guard file.name.reserved == .secret else {
      return finish(
        try await store.write(content, to: file.name, in: file.directory, by: user), file, session)
    }
    guard content.isEmpty || isSecret(content, of: file.directory) else {
      return .refused(.badContent)
    }
    let boxed = content.isEmpty ? nil : keys.storage.seal(content)
    return finish(
      try await store.escrow(boxed, of: file.directory, by: user), file, session)
  }

  private func remove(
    _ file: FileAddress, _ user: EncryptionPublicKey, _ session: SessionID
  ) async throws -> FileAnswer {
    defer { changed(file) }
    return finish(
      try await store.remove(file.name, in: file.directory, by: user), file, session)
  }

  /// The reserved files say who is what in a forum.
  private func changed(_ file: FileAddress) {
    if file.name.reserved != nil { forums.forget(file.directory) }
  }

  /// What success frees is free for the next in turn.
  private func finish(
    _ change: FileChange, _ file: FileAddress, _ session: SessionID
  ) -> FileAnswer {
    if change == .done { locks.withLock { $0.release(file, by: session) } }
    return FileAnswer(change)
  }

  /// Whether what was sealed to the service is the secret half of a forum's key.
  private func isSecret(_ sealed: [UInt8], of forum: EncryptionPublicKey) -> Bool {
    guard var secret = SealedBox.open(sealed, with: keys.encryption) else { return false }
    defer { wipe(&secret) }
    return EncryptionKeyPair(secret: secret, for: .session)?.publicKey == forum
  }
}

extension FileAnswer {
  /// How a change is answered.
  fileprivate init(_ change: FileChange) {
    switch change {
    case .done: self = .done(nil)
    case .noDirectory, .noFile: self = .refused(.notFound)
    case .notPermitted: self = .refused(.notPermitted)
    case .overQuota: self = .refused(.overQuota)
    case .badContent: self = .refused(.badContent)
    }
  }
}
