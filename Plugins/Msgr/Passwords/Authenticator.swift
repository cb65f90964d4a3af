internal import Cryptography
internal import Observability
internal import Threading
internal import Time

/// Finds out whether callers are who they say, and how often they may try.
///
/// A request with a password takes one trip to the store if the pair was verified lately. Else the
/// store says what to verify, Argon2id runs on a thread of its own, and the store is asked again.
final class Authenticator: Sendable {
  /// How often is too often.
  struct Limits: Sendable {
    /// Failed logins for one name from one address.
    var failuresOfName = 10
    /// Failed logins from one address.
    var failuresOfAddress = 100
    /// Messages of one sender in a minute.
    var messages = 600
  }

  private struct NameAndAddress: Hashable {
    let name: UserName
    let address: ClientAddress
  }

  private let cost: PasswordHash.Cost
  private let limits: Limits
  private let pairs: PairCache
  private let threads: PasswordThreads
  private let failures: AttemptTable
  private let messages: AttemptTable
  /// Verified when there is no such account, so that it takes as long as when there is one.
  private let dummy: PasswordHash
  private let running = Lock<[PairCache.Proof: Task<Bool, any Error>]>([:])
  private let duration: Histogram

  /// An authenticator that has verified nothing yet.
  ///
  /// - Parameters:
  ///   - configuration: costs and limits.
  ///   - clock: tells the time.
  ///   - randomBytes: gives random bytes.
  ///   - metrics: where checks are counted.
  /// - Throws: ``PasswordHashError`` if the system hasn't the memory that a check costs.
  init(
    _ configuration: MsgrConfiguration, clock: @escaping @Sendable () -> Timestamp,
    randomBytes: (Int) -> [UInt8], metrics: Metrics
  ) throws {
    cost = configuration.passwordCost
    limits = configuration.attempts
    pairs = PairCache(
      key: randomBytes(32), lifetime: configuration.passwordCache, limit: 1 << 16, clock: clock)
    threads = PasswordThreads(
      threads: configuration.passwordThreads, queueLimit: configuration.passwordQueue)
    failures = AttemptTable(span: configuration.failureSpan, clock: clock)
    messages = AttemptTable(span: .seconds(60), clock: clock)
    dummy = try PasswordHash(of: randomBytes(32), cost: cost)
    duration = metrics.histogram(
      "awd_msgr_password_check_seconds", "Duration of a password check, including the wait")
  }

  /// Does something for a caller, once it is known.
  ///
  /// - Parameters:
  ///   - credentials: who the caller says it is.
  ///   - address: where it comes from.
  ///   - store: where a hash of the same password with today's cost is put.
  ///   - act: tries to do it.
  /// - Returns: what `act` did.
  /// - Throws: ``Refusal``, or what `act` throws.
  func perform<Value: Sendable>(
    as credentials: Credentials, from address: ClientAddress, in store: MsgrStore,
    _ act: (Caller) async throws -> Outcome<Value>
  ) async throws -> Value {
    switch credentials {
    case .token(let token, let name):
      guard case .done(let value) = try await act(.token(token, claiming: name)) else {
        throw Refusal.forbidden
      }
      return value
    case .password(let name, let password):
      try refuseIfTooMany(name, address)
      var proven: PairCache.Proof?
      // Twice, if the password changes meanwhile.
      for _ in 0..<3 {
        let caller = Caller.password(name) { [pairs, proven] hash in
          let proof = pairs.proof(name, password, hash)
          return proof == proven || pairs.contains(proof)
        }
        switch try await act(caller) {
        case .done(let value): return value
        case .unproven(let hash):
          proven = try await verify(password, of: name, against: hash, from: address, in: store)
        }
      }
      throw Refusal.busy
    }
  }

  /// Makes the hash of a new password, and remembers the pair.
  ///
  /// - Throws: `.busy`.
  func hash(_ password: Password, of name: UserName) async throws -> PasswordHash {
    let hash = try await onThread { [cost] in
      try PasswordHash(of: password.bytes, cost: cost)
    }
    pairs.insert(pairs.proof(name, password, hash))
    return hash
  }

  /// Counts a message of a sender.
  ///
  /// - Throws: `.tooMany`.
  func countMessage(of sender: UserName) throws(Refusal) {
    if let seconds = messages.count(sender, upTo: limits.messages) {
      throw .tooMany(retryAfter: seconds)
    }
  }

  // MARK: - Verifying

  private func refuseIfTooMany(_ name: UserName, _ address: ClientAddress) throws(Refusal) {
    let key = NameAndAddress(name: name, address: address)
    let wait = max(
      failures.wait(for: key, upTo: limits.failuresOfName) ?? 0,
      failures.wait(for: address, upTo: limits.failuresOfAddress) ?? 0)
    if wait > 0 { throw .tooMany(retryAfter: wait) }
  }

  /// Checks a password by Argon2id.
  ///
  /// The same pair is checked once however many ask for it at the same time. A check counts as
  /// failed as soon as it begins, so that many at once are no way round the limit.
  private func verify(
    _ password: Password, of name: UserName, against stored: PasswordHash?,
    from address: ClientAddress, in store: MsgrStore
  ) async throws -> PairCache.Proof {
    let hash = stored ?? dummy
    let proof = pairs.proof(name, password, hash)
    let key = NameAndAddress(name: name, address: address)
    let (check, isFirst) = try running.withLock { running in
      if let check = running[proof] { return (check, false) }
      if let seconds = failures.count(key, upTo: limits.failuresOfName) {
        throw Refusal.tooMany(retryAfter: seconds)
      }
      if let seconds = failures.count(address, upTo: limits.failuresOfAddress) {
        failures.uncount(key)
        throw Refusal.tooMany(retryAfter: seconds)
      }
      let check = Task {
        try await self.onThread { try hash.verifies(password.bytes) && stored != nil }
      }
      running[proof] = check
      return (check, true)
    }
    let result = await check.result
    if isFirst {
      _ = running.withLock { $0.removeValue(forKey: proof) }
      // What could not be checked isn't a failure of the caller's.
      if (try? result.get()) != false {
        failures.uncount(key)
        failures.uncount(address)
      }
    }
    guard try result.get() else { throw Refusal.forbidden }
    pairs.insert(proof)
    if isFirst, hash.differs(from: cost) {
      let new = try await self.hash(password, of: name)
      try await store.replace(hash, by: new, of: name)
      return pairs.proof(name, password, new)
    }
    return proof
  }

  private func onThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let start = ContinuousClock.now
    do {
      let value = try await threads.run(body)
      duration.observe(ContinuousClock.now - start)
      return value
    } catch is PasswordThreads.Busy {
      throw Refusal.busy
    } catch is PasswordHashError {
      throw Refusal.busy
    }
  }
}

/// What a request shows to be taken for a user's.
enum Credentials: Sendable {
  case password(UserName, Password)
  case token(TokenHash, claiming: UserName?)
}
