internal import Cryptography

/// The locks on files, with the sessions that hold them and the ends of their leases (page "Files").
struct LockTable: Sendable {
  /// The result of a request for a lock.
  enum Outcome: Hashable, Sendable {
    /// The session holds it; new if it did not hold it before.
    case held(isNew: Bool)
    /// Another session holds it.
    case taken
    /// The session holds too many.
    case tooMany
  }

  private struct Lease {
    let holder: SessionID
    let end: ContinuousClock.Instant
  }

  /// The time after which a lock ends that is not renewed.
  let lease: Duration
  /// The most locks of a session.
  let limit: Int
  private var leases: [FileAddress: Lease] = [:]
  private var files: [SessionID: Set<FileAddress>] = [:]

  /// Makes a table without locks.
  ///
  /// - Parameter lease: the time after which a lock ends that is not renewed.
  init(lease: Duration, limit: Int) {
    self.lease = lease
    self.limit = limit
  }

  /// Locks a file for a session, or renews its lock.
  mutating func lock(
    _ file: FileAddress, for session: SessionID, at now: ContinuousClock.Instant
  ) -> Outcome {
    guard isFree(file, for: session, at: now) else { return .taken }
    let isNew = !isHeld(file, at: now)
    if isNew {
      for file in files[session] ?? [] where !isHeld(file, at: now) { forget(file) }
      guard files[session]?.count ?? 0 < limit else { return .tooMany }
    }
    forget(file)
    leases[file] = Lease(holder: session, end: now + lease)
    files[session, default: []].insert(file)
    return .held(isNew: isNew)
  }

  /// Returns whether no other session has a lock on a file.
  func isFree(
    _ file: FileAddress, for session: SessionID, at now: ContinuousClock.Instant
  ) -> Bool { !isHeld(file, at: now) || leases[file]?.holder == session }

  private func isHeld(_ file: FileAddress, at now: ContinuousClock.Instant) -> Bool {
    leases[file].map { $0.end > now } ?? false
  }

  /// Ends a session's lock, if it has one on the file.
  mutating func release(_ file: FileAddress, by session: SessionID) {
    if leases[file]?.holder == session { forget(file) }
  }

  /// Ends all locks of a session.
  mutating func releaseAll(of session: SessionID) {
    for file in files.removeValue(forKey: session) ?? [] { leases[file] = nil }
  }

  /// Ends all locks in a directory that is no more.
  mutating func removeDirectory(_ directory: EncryptionPublicKey) {
    for file in leases.keys where file.directory == directory { forget(file) }
  }

  /// The number of locks, with those whose lease has ended unnoticed.
  var count: Int { leases.count }

  private mutating func forget(_ file: FileAddress) {
    guard let lease = leases.removeValue(forKey: file) else { return }
    files[lease.holder]?.remove(file)
    if files[lease.holder]?.isEmpty == true { files[lease.holder] = nil }
  }
}
