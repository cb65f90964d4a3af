internal import ApptimistProtocol
internal import Cryptography
internal import Ethereum
internal import Platform
internal import Storage

/// Reads, locks, writes and removes files, and replies with the first error that applies (page
/// "Files").
final class FileService: Sendable {
  private let store: ApptimistStore
  private let directory: AccountDirectory
  private let keys: ServiceKeys
  /// The chains on which somebody's tokens can be asked for.
  private let gateChains: Set<ChainID>
  /// This node, if several share the store: then the locks lie there.
  private let node: NodeID?
  /// The locks of a store that is this process's own.
  private let locks: Lock<LockTable>
  /// The files that are being locked or changed: a session that locks a file sees all that was written
  /// before, and no session that asked before the lock writes after it.
  private let changes = KeyedMutex<FileAddress>()
  private let clock: @Sendable () -> ContinuousClock.Instant

  /// Makes the service.
  ///
  /// - Parameters:
  ///   - directory: forgets forums that change.
  ///   - node: this node, or nil if the store is this process's own.
  ///   - gateChains: the chains on which somebody's tokens can be asked for.
  ///   - locks: an empty table, with its limits.
  ///   - clock: returns the time by which leases end.
  init(
    _ store: ApptimistStore, _ directory: AccountDirectory, keys: ServiceKeys, node: NodeID?,
    gateChains: Set<ChainID>, locks: LockTable,
    clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.store = store
    self.directory = directory
    self.keys = keys
    self.node = node
    self.gateChains = gateChains
    self.clock = clock
    self.locks = Lock(locks)
  }

  /// Does what a request wants; a change is on disk when this returns.
  ///
  /// - Throws: ``StoreError``; then nothing was changed.
  func reply(
    to request: FileRequest, by login: AccountLogin, in session: SessionID
  ) async throws -> FileReply {
    guard let name = Filename(request.filename) else { return .refused(.badFilename) }
    let file = FileAddress(directory: request.directory, name: name)
    guard let access = try await store.access(of: login.user, to: file.directory) else {
      return .refused(.notFound)
    }
    guard access.permits(request.act, name) else { return .refused(.notPermitted) }
    if case .read = request.act { return try await read(file) }
    return try await changes.withLock(file) {
      guard try await isFree(file, for: session) else { return .refused(.locked) }
      switch request.act {
      case .read: return try await read(file)
      case .lock: return try await lock(file, for: session)
      case .write(let content):
        if let content, access.isForum, name == .gate, !isGate(content) {
          return .refused(.badContent)
        }
        return try await write(content, to: file, login, session)
      case .remove: return try await remove(file, login, session)
      }
    }
  }

  /// Changes the readers of a forum for the service, once nobody else has them locked.
  ///
  /// - Parameters:
  ///   - session: the session for which it is done, or that of nobody.
  ///   - change: makes the change, for the holder of locks in a store that other nodes share.
  /// - Returns: the outcome of the change; `.internalError` if the readers stay locked.
  func changeReaders(
    of forum: EncryptionPublicKey, for session: SessionID = SessionID(number: 0),
    _ change: (NodeSession?) async throws -> ErrorCode
  ) async throws -> ErrorCode {
    for _ in 1...20 {
      let outcome = try await changeFreeReaders(of: forum, for: session, change)
      guard outcome == .locked else { return outcome }
      try await Task.sleep(for: .milliseconds(500))
    }
    return .internalError
  }

  /// Changes the readers of a forum for the service, unless somebody has them locked.
  ///
  /// - Returns: the outcome of the change, or `.locked`.
  func changeFreeReaders(
    of forum: EncryptionPublicKey, for session: SessionID = SessionID(number: 0),
    _ change: (NodeSession?) async throws -> ErrorCode
  ) async throws -> ErrorCode {
    let file = FileAddress(directory: forum, name: Filename(.subscribers))
    return try await changes.withLock(file) {
      guard try await isFree(file, for: session) else { return ErrorCode.locked }
      defer { changed(file) }
      return try await change(holder(session))
    }
  }

  /// Returns whether a file is a gate that can be asked about, or ends one.
  private func isGate(_ content: [UInt8]) -> Bool {
    content.isEmpty || TokenGate(parsing: content).map { gateChains.contains($0.chain) } ?? false
  }

  /// Ends the locks of a session that is over.
  func ended(_ session: SessionID) { locks.withLock { $0.releaseAll(of: session) } }

  /// Deletes a forum with its files and its locks, if the user may; a forum that is deleted stays so.
  func deleteForum(_ forum: EncryptionPublicKey, by login: AccountLogin) async throws -> ErrorCode {
    let outcome = try await store.removeForum(forum, by: login)
    if outcome == .notFound, try await store.isDeleted(forum) { return .done }
    if outcome == .done { forget([forum]) }
    return outcome
  }

  /// Forgets accounts that are deleted.
  func forget(_ accounts: [EncryptionPublicKey]) {
    for account in accounts {
      directory.forget(account)
      locks.withLock { $0.removeDirectory(account) }
    }
  }

  /// Returns whether no other session has a lock on a file.
  private func isFree(_ file: FileAddress, for session: SessionID) async throws -> Bool {
    guard let holder = holder(session) else {
      let now = clock()
      return locks.withLock { $0.isFree(file, for: session, at: now) }
    }
    // Looked at again when the file is changed.
    return try await store.isFree(file, for: holder)
  }

  private func read(_ file: FileAddress) async throws -> FileReply {
    guard let content = try await store.file(file.name, in: file.directory) else {
      return .refused(.notFound)
    }
    return .done(content)
  }

  private func lock(_ file: FileAddress, for session: SessionID) async throws -> FileReply {
    if let holder = holder(session) {
      let (lease, limit) = locks.withLock { ($0.lease, $0.limit) }
      return try await store.lock(file, for: holder, lease: lease, limit: limit)
    }
    let now = clock()
    switch locks.withLock({ $0.lock(file, for: session, at: now) }) {
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
    _ content: [UInt8]?, to file: FileAddress, _ login: AccountLogin, _ session: SessionID
  ) async throws -> FileReply {
    guard let content else { return .refused(.dataDoesNotOpen) }
    defer { changed(file) }
    guard file.name.reserved == .secret else {
      return finish(
        try await store.write(
          content, to: file.name, in: file.directory, by: login, holder: holder(session)),
        file, session)
    }
    guard content.isEmpty || isSecret(content, of: file.directory) else {
      return .refused(.badContent)
    }
    let boxed = content.isEmpty ? nil : keys.storage.seal(content)
    return finish(
      try await store.escrow(boxed, of: file.directory, by: login, holder: holder(session)),
      file, session)
  }

  private func remove(
    _ file: FileAddress, _ login: AccountLogin, _ session: SessionID
  ) async throws -> FileReply {
    defer { changed(file) }
    return finish(
      try await store.remove(file.name, in: file.directory, by: login, holder: holder(session)),
      file, session)
  }

  /// The session as the holder of locks in a store that other nodes share, or nil in one that is this process's alone.
  private func holder(_ session: SessionID) -> NodeSession? {
    node.map { NodeSession(node: $0, session: session) }
  }

  /// Forgets what the directory knows of a forum whose reserved files may have changed.
  private func changed(_ file: FileAddress) {
    if file.name.reserved != nil { directory.forget(file.directory) }
  }

  /// Ends the lock of a file that was changed.
  private func finish(_ change: ErrorCode, _ file: FileAddress, _ session: SessionID) -> FileReply {
    guard change == .done else { return .refused(change) }
    locks.withLock { $0.release(file, by: session) }
    return .done(nil)
  }

  /// Returns whether the content, which was sealed to the service, is the secret half of a forum's key.
  private func isSecret(_ sealed: [UInt8], of forum: EncryptionPublicKey) -> Bool {
    guard var secret = SealedBox.open(sealed, with: keys.encryption) else { return false }
    defer { wipe(&secret) }
    return EncryptionKeyPair(secret: secret, for: .session)?.publicKey == forum
  }
}

/// The rights of a user in the directory of a user or a forum (page "Files").
struct DirectoryAccess: Hashable, Sendable {
  /// True if it is a forum's directory.
  let isForum: Bool
  /// True if the user is the author or an editor.
  let mayWrite: Bool
  /// True if the user has any role: author, editor, moderator or subscriber.
  let isMember: Bool

  /// Returns whether an act is permitted, whether or not the file exists.
  func permits(_ act: FileRequest.Act, _ name: Filename) -> Bool {
    switch (act, name.reserved) {
    case (.read, .secret), (.lock, .author), (.lock, .secret), (.remove, .author),
      (.remove, .secret), (.write, .author):
      return false
    case (.write, .secret): return isForum && mayWrite
    case (.write, _), (.lock, _), (.remove, _): return mayWrite
    case (.read, _): return isForum ? isMember : mayWrite || !name.isHidden
    }
  }
}

/// The address of a file.
struct FileAddress: Hashable, Sendable {
  /// The key of the user or forum in whose directory it is.
  let directory: EncryptionPublicKey
  /// The file's name in the directory.
  let name: Filename
}
