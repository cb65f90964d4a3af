internal import Addresses
internal import Cryptography
internal import MsgrMessages
internal import Observability
internal import SystemCalls
internal import Threading
internal import Time

/// Verifies passwords by Argon2id on threads of its own, and limits failed attempts.
final class PasswordVerifier: Sendable {
  /// The numbers of failed attempts that are let through.
  struct Limits: Sendable {
    /// Failed logins for one name from one address.
    var failuresOfName = 10
    /// Failed logins from one address.
    var failuresOfAddress = 100
  }

  private struct Attempt: Hashable {
    let name: UserName
    let address: ClientNetwork?
  }

  private let store: MsgrStore
  private let cost: PasswordHash.Cost
  private let limits: Limits
  private let verified: VerifiedPasswords
  private let threads: ThreadPool
  private let failures: AttemptTable
  /// The hash that is verified when there is no such account, so that it takes as long as when there is one.
  private let dummy: PasswordHash
  /// The checks under way; each gives the hash that is stored now, or nil if the password is wrong.
  private let checks = Lock<[VerifiedPasswords.Proof: Task<PasswordHash?, any Error>]>([:])
  private let duration: Histogram

  /// Makes a verifier that has verified nothing yet.
  ///
  /// - Parameters:
  ///   - store: the accounts.
  ///   - configuration: costs and limits.
  ///   - randomBytes: gives random bytes.
  ///   - metrics: counts the checks.
  /// - Throws: ``PasswordHashError`` if the system doesn't have the memory that a check costs.
  init(
    _ store: MsgrStore, _ configuration: MsgrConfiguration, randomBytes: (Int) -> [UInt8],
    metrics: Metrics
  ) throws {
    self.store = store
    cost = configuration.passwordCost
    limits = configuration.attempts
    verified = VerifiedPasswords(
      key: randomBytes(32), lifetime: configuration.passwordCache, limit: 1 << 16,
      clock: store.clock)
    threads = ThreadPool(
      named: "awd-password", width: configuration.passwordThreads,
      queue: configuration.passwordQueue)
    failures = AttemptTable(span: configuration.failureSpan, clock: store.clock)
    dummy = try PasswordHash(of: randomBytes(32), cost: cost)
    duration = metrics.histogram(
      "awd_msgr_password_check_seconds", "Duration of a password check, including the wait")
  }

  /// Verifies a password, from memory if it was verified lately.
  ///
  /// - Parameters:
  ///   - password: the password.
  ///   - name: the name of the account, which may not exist.
  ///   - address: the address that failures are counted for.
  /// - Returns: the stored hash of the password.
  /// - Throws: `.forbidden` if the password is wrong, `.tooMany`, `.busy`, or ``StoreError``.
  func verify(
    _ password: Password, of name: UserName, from address: ClientNetwork?
  ) async throws -> PasswordHash {
    let attempt = Attempt(name: name, address: address)
    try refuseIfTooMany(attempt)
    if let hash = verified.hash(of: name, password) { return hash }
    let stored = try await store.passwordHash(of: name)
    let proof = verified.proof(name, password, stored ?? dummy)
    let check = try checks.withLock { checks in
      if let check = checks[proof] { return check }
      // Another check may have ended since the store was asked.
      if let hash = verified.hash(of: name, password) {
        return Task<PasswordHash?, any Error> { hash }
      }
      try count(attempt)
      let check = Task { try await self.check(password, attempt, stored, proof) }
      checks[proof] = check
      return check
    }
    guard let hash = try await check.value else { throw RequestRefusal.forbidden }
    return hash
  }

  /// Makes the hash of a new password, and remembers the password as verified.
  ///
  /// - Throws: `.busy`.
  func hash(_ password: Password, of name: UserName) async throws -> PasswordHash {
    let hash = try await onThread { [cost] in try PasswordHash(of: password.bytes, cost: cost) }
    verified.insert(verified.proof(name, password, hash), of: name, hash)
    return hash
  }

  /// Forgets that a password was verified against a hash that is no longer the stored one.
  func forget(_ name: UserName, _ hash: PasswordHash) { verified.remove(name, hash) }

  /// Checks a password by Argon2id.
  ///
  /// The same password is checked once, however many requests wait for it at the same time.
  private func check(
    _ password: Password, _ attempt: Attempt, _ stored: PasswordHash?,
    _ proof: VerifiedPasswords.Proof
  ) async throws -> PasswordHash? {
    defer { checks.withLock { $0[proof] = nil } }
    let isRight: Bool
    do {
      let hash = stored ?? dummy
      isRight = try await onThread { try hash.verifies(password.bytes) }
    } catch {
      // A check that couldn't be made is no failure of the caller's.
      uncount(attempt)
      throw error
    }
    guard let stored, isRight else { return nil }
    uncount(attempt)
    verified.insert(proof, of: attempt.name, stored)
    guard stored.differs(from: cost) else { return stored }
    // If it fails, the next check tries again.
    return (try? await replace(stored, by: password, of: attempt.name)) ?? stored
  }

  /// Replaces a hash of another cost.
  private func replace(
    _ stored: PasswordHash, by password: Password, of name: UserName
  ) async throws -> PasswordHash {
    let new = try await onThread { [cost] in try PasswordHash(of: password.bytes, cost: cost) }
    try await store.replace(stored, by: new, of: name)
    verified.insert(verified.proof(name, password, new), of: name, new)
    return new
  }

  private func onThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let start = ContinuousClock.now
    do {
      let value = try await threads.run(body)
      duration.observe(ContinuousClock.now - start)
      return value
    } catch let error
      where error is ThreadPool.Busy || error is SystemError || error is PasswordHashError
    {
      throw RequestRefusal.busy
    }
  }

  // MARK: - Failed attempts

  private func refuseIfTooMany(_ attempt: Attempt) throws(RequestRefusal) {
    let wait = max(
      failures.wait(for: attempt, upTo: limits.failuresOfName) ?? 0,
      failures.wait(for: attempt.address, upTo: limits.failuresOfAddress) ?? 0)
    if wait > 0 { throw .tooMany(retryAfter: wait) }
  }

  /// Counts an attempt as failed when its check begins, so that many at once are no way round the limit.
  private func count(_ attempt: Attempt) throws(RequestRefusal) {
    if let seconds = failures.count(attempt, upTo: limits.failuresOfName) {
      throw .tooMany(retryAfter: seconds)
    }
    if let seconds = failures.count(attempt.address, upTo: limits.failuresOfAddress) {
      failures.uncount(attempt)
      throw .tooMany(retryAfter: seconds)
    }
  }

  private func uncount(_ attempt: Attempt) {
    failures.uncount(attempt)
    failures.uncount(attempt.address)
  }
}
