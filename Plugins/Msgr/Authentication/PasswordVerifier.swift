internal import Cryptography
internal import Formats
internal import Observability
internal import Platform

/// A password as it was given: 1 to 128 bytes, not normalized. No description shows it.
struct Password: Sendable {
  /// The longest password, in bytes.
  static let longest = 128

  /// The bytes of the password.
  let bytes: [UInt8]

  /// Checks a password.
  ///
  /// - Parameter field: the field that holds it.
  /// - Throws: ``FieldError`` that says which rule the password breaks.
  init(_ text: String, in field: FieldID = .password) throws(FieldError) {
    guard !text.isEmpty else { throw FieldError(field, "is empty") }
    guard text.utf8.count <= Self.longest else {
      throw FieldError(field, "is longer than \(Self.longest) bytes")
    }
    guard !text.unicodeScalars.contains(where: \.isControl) else {
      throw FieldError(field, "has a control character")
    }
    bytes = Array(text.utf8)
  }
}

extension Password: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Asterisks in place of the password.
  var description: String { "***" }
  /// Asterisks in place of the password.
  var debugDescription: String { description }
  /// A mirror without children, so that `dump` shows nothing.
  var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

extension Unicode.Scalar {
  /// True if the scalar is one of Unicode's control characters (Cc).
  var isControl: Bool { value < 0x20 || (0x7f...0x9f).contains(value) }
}

/// Verifies passwords by Argon2id on threads of its own, for which clients' sites take turns, and limits failures.
final class PasswordVerifier: Sendable {
  /// The degree to which the threads give way to the event loops: with twice as much, a flood of requests on a machine of one
  /// core makes logins wait for half a second.
  private static let niceness: CInt = 5

  private let store: MsgrStore
  private let cost: PasswordHash.Cost
  private let verified: VerifiedPasswords
  private let threads: ThreadPool
  private let failures: FailedLogins
  /// Notifies other nodes of a failed login.
  private let publishFailure: @Sendable (FailedLogins.Failure) -> Void
  private let report: RefusalReport
  /// The hash that is verified when there is no such account, so that it takes as long as when there is one.
  private let dummy: PasswordHash
  /// The checks under way; each gives the hash that is stored now, or nil if the password is wrong.
  private let checks = Lock<[VerifiedPasswords.Proof: Promise<Result<PasswordHash?, any Error>>]>(
    [:])
  private let duration: Histogram

  /// Makes a verifier that has verified nothing yet.
  ///
  /// - Parameter randomBytes: gives random bytes.
  /// - Throws: ``PasswordHashError`` if the system doesn't have the memory that a check costs.
  init(
    _ store: MsgrStore, _ configuration: MsgrConfiguration, randomBytes: (Int) -> [UInt8],
    report: RefusalReport, metrics: Metrics,
    publishFailure: @escaping @Sendable (FailedLogins.Failure) -> Void = { _ in }
  ) throws {
    self.store = store
    self.publishFailure = publishFailure
    cost = configuration.passwordCost
    verified = VerifiedPasswords(
      key: randomBytes(32), lifetime: configuration.passwordCache, limit: 1 << 16,
      clock: store.clock)
    threads = ThreadPool(
      named: "awd-password", width: configuration.passwordThreads,
      queue: configuration.passwordQueue, niceness: Self.niceness)
    failures = FailedLogins(
      configuration.attempts, span: configuration.failureSpan, clock: store.clock)
    self.report = report
    dummy = try PasswordHash(of: randomBytes(32), cost: cost)
    duration = metrics.histogram(
      "awd_msgr_password_check_seconds", "Duration of a password check, including the wait")
  }

  /// Verifies a password, from memory if it was verified lately.
  ///
  /// - Parameters:
  ///   - name: the name of the account, which may not exist.
  ///   - network: the client's network, which failures are counted for.
  ///   - device: the device that logs in. One that is linked to the account has a count of its own.
  /// - Returns: the stored hash of the password.
  /// - Throws: `.forbidden` if the password is wrong, `.tooMany`, `.busy`, or ``StoreError``.
  func verify(
    _ password: Password, of name: UserName, from network: ClientNetwork?,
    on device: DeviceID? = nil
  ) async throws -> PasswordHash {
    do {
      let login = FailedLogins.Login(name: name, place: FailedLogins.Place.network(network))
      do {
        return try await verify(password, login, from: network)
      } catch RequestRefusal.tooMany(let wait) {
        guard let device = device?.owned(by: name), try await store.isBound(device, to: name) else {
          throw RequestRefusal.tooMany(retryAfter: wait)
        }
        let place = FailedLogins.Place(device)
        return try await verify(
          password, FailedLogins.Login(name: name, place: place), from: network)
      }
    } catch {
      report.record(error, .login, of: name, from: network)
      throw error
    }
  }

  private func verify(
    _ password: Password, _ login: FailedLogins.Login, from network: ClientNetwork?
  ) async throws -> PasswordHash {
    let isFamiliar = failures.isFamiliar(login)
    // Even what is in memory isn't compared with more guesses than that.
    try failures.refuseIfTooMany(login, isFamiliar: isFamiliar)
    if let hash = verified.hash(of: login.name, password) {
      if !isFamiliar { failures.recordSuccess(login) }
      return hash
    }
    let stored = try await store.passwordHash(of: login.name)
    let proof = verified.proof(login.name, password, stored ?? dummy)
    let hash = try await check(
      password, login, stored, proof, isFamiliar: isFamiliar, for: network)
    guard let hash else { throw RequestRefusal.forbidden }
    return hash
  }

  /// Waits for the check of a password that is under way, or begins one.
  ///
  /// - Returns: the stored hash; nil if the password is wrong.
  private func check(
    _ password: Password, _ login: FailedLogins.Login, _ stored: PasswordHash?,
    _ proof: VerifiedPasswords.Proof, isFamiliar: Bool, for network: ClientNetwork?
  ) async throws -> PasswordHash? {
    if let check = checks.withLock({ $0[proof] }) { return try await check.value.get() }
    // Another check may have ended since the store was read.
    if let hash = verified.hash(of: login.name, password) { return hash }
    let counted = try failures.begin(login, isFamiliar: isFamiliar)
    let (check, isNew) = checks.withLock { checks in
      if let check = checks[proof] { return (check, false) }
      let check = Promise<Result<PasswordHash?, any Error>>()
      checks[proof] = check
      return (check, true)
    }
    if isNew {
      // In a task of its own, as others may wait for the check when this caller has left. The lock is free by now.
      Task {
        do {
          let hash = try await self.check(password, login, stored, proof, counted, for: network)
          check.fulfill(.success(hash))
        } catch { check.fulfill(.failure(error)) }
      }
    } else {
      failures.refund(counted)
    }
    return try await check.value.get()
  }

  /// Makes the hash of a new account's password, when no login waits.
  ///
  /// - Throws: `.busy`.
  func hash(_ password: Password, for network: ClientNetwork?) async throws -> PasswordHash {
    try await onThread(for: network, .deferred) { [cost] in
      try PasswordHash(of: password.bytes, cost: cost)
    }
  }

  /// Remembers the password of a new account as verified in a network.
  func remember(
    _ password: Password, of name: UserName, _ hash: PasswordHash, in network: ClientNetwork?
  ) {
    verified.insert(verified.proof(name, password, hash), of: name, hash)
    failures.recordSuccess(
      FailedLogins.Login(name: name, place: FailedLogins.Place.network(network)))
  }

  /// Checks something else than a password; what is forbidden counts as a failed login of the network, which the operator
  /// and other nodes get to know by a name, which need not be an account's.
  func counting<Value>(
    _ name: @autoclosure () -> UserName, from network: ClientNetwork?,
    as act: RefusalReport.Act = .login, _ check: () async throws -> Value
  ) async throws -> Value {
    let place = FailedLogins.Place.network(network)
    let counted = try failures.begin(at: place)
    do {
      let value = try await check()
      failures.refund(counted)
      return value
    } catch {
      if error as? RequestRefusal != .forbidden {
        failures.refund(counted)
      } else {
        let login = FailedLogins.Login(name: name(), place: place)
        report.record(error, act, of: login.name, from: network)
        publishFailure(FailedLogins.Failure(login: login, isFamiliar: false))
      }
      throw error
    }
  }

  /// Checks a token as ``counting(_:from:as:_:)`` does. Nobody knows whose it was to be.
  func countingToken<Value>(
    from network: ClientNetwork?, _ check: () async throws -> Value
  ) async throws -> Value {
    try await counting(UserName(stored: "a token"), from: network, as: .token, check)
  }

  /// Counts a login that has failed on another node.
  func record(_ failure: FailedLogins.Failure) { failures.record(failure) }

  /// Forgets that a password was verified against a hash that is no longer the stored one.
  func forget(_ name: UserName, _ hash: PasswordHash) { verified.remove(name, hash) }

  /// Checks a password by Argon2id.
  ///
  /// The same password is checked once, however many requests wait for it at the same time.
  private func check(
    _ password: Password, _ login: FailedLogins.Login, _ stored: PasswordHash?,
    _ proof: VerifiedPasswords.Proof, _ counted: [FailedLogins.Key],
    for network: ClientNetwork?
  ) async throws -> PasswordHash? {
    defer { checks.withLock { $0[proof] = nil } }
    // Another check may have ended before this one was the one to wait for.
    if let hash = verified.hash(of: login.name, password) {
      failures.refund(counted)
      return hash
    }
    let isRight: Bool
    do {
      let hash = stored ?? dummy
      // Guesses are never familiar, and wait for logins that are.
      let urgency = failures.isFamiliar(login) ? ThreadPool.Urgency.urgent : .prompt
      isRight = try await onThread(for: network, urgency) { try hash.verifies(password.bytes) }
    } catch {
      // A check that couldn't be made is no failure of the caller's.
      failures.refund(counted)
      throw error
    }
    guard let stored, isRight else {
      publishFailure(FailedLogins.Failure(login: login, isFamiliar: failures.isFamiliar(login)))
      return nil
    }
    failures.refund(counted)
    failures.recordSuccess(login)
    verified.insert(proof, of: login.name, stored)
    guard stored.differs(from: cost) else { return stored }
    // If it fails, the next check tries again.
    return (try? await replace(stored, by: password, login, for: network)) ?? stored
  }

  /// Replaces a hash of another cost.
  private func replace(
    _ stored: PasswordHash, by password: Password, _ login: FailedLogins.Login,
    for network: ClientNetwork?
  ) async throws -> PasswordHash {
    let new = try await onThread(for: network) { [cost] in
      try PasswordHash(of: password.bytes, cost: cost)
    }
    try await store.replace(stored, by: new, of: login.name)
    verified.insert(verified.proof(login.name, password, new), of: login.name, new)
    return new
  }

  private func onThread<Value: Sendable>(
    for network: ClientNetwork?, _ urgency: ThreadPool.Urgency = .prompt,
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let start = ContinuousClock.now
    do {
      let value = try await threads.run(for: network, urgency: urgency, body)
      duration.observe(ContinuousClock.now - start)
      return value
    } catch let error
      where error is ThreadPool.Busy || error is SystemError || error is PasswordHashError
    {
      throw RequestRefusal.busy
    }
  }
}

/// Remembers, in memory only, which passwords were verified lately.
///
/// An account's password is kept as BLAKE2b(key, name, password, stored hash) under a key that lives as long as the
/// process, beside the stored hash that it was verified against. Transactions compare that hash with the stored one, so
/// that a password that was changed by another process counts at once.
final class VerifiedPasswords: Sendable {
  /// The keyed hash of a name, a password and the stored hash of that password.
  ///
  /// Comparing two of them takes no constant time. Nobody without the key can choose or predict one, so the time tells
  /// nothing about a password.
  struct Proof: Hashable, Sendable {
    fileprivate let digest: KeyedHash.Digest
  }

  private struct Entry: Sendable {
    let proof: Proof
    let hash: PasswordHash
    let end: Timestamp
  }

  private let function: KeyedHash
  private let lifetime: Duration
  private let clock: @Sendable () -> Timestamp
  private let entries: RecentValues<UserName, Entry>

  /// Makes an empty memory.
  ///
  /// - Parameters:
  ///   - key: 32 random bytes.
  ///   - limit: the most passwords that are remembered, two at least.
  init(key: [UInt8], lifetime: Duration, limit: Int, clock: @escaping @Sendable () -> Timestamp) {
    function = KeyedHash(key: key)
    self.lifetime = lifetime
    self.clock = clock
    entries = RecentValues(limit: limit)
  }

  /// Returns the proof of a password.
  func proof(_ name: UserName, _ password: Password, _ hash: PasswordHash) -> Proof {
    Proof(digest: function.hash(Array(name.text.utf8), password.bytes, Array(hash.text.utf8)))
  }

  /// Returns the stored hash that a password was verified against within the lifetime, or nil.
  func hash(of name: UserName, _ password: Password) -> PasswordHash? {
    guard let entry = entries.value(for: name) else { return nil }
    let left = clock().duration(to: entry.end)
    // A clock that was set back doesn't make a password live longer.
    guard left > .zero, left <= lifetime, proof(name, password, entry.hash) == entry.proof else {
      return nil
    }
    return entry.hash
  }

  /// Remembers that a password was verified against a stored hash.
  func insert(_ proof: Proof, of name: UserName, _ hash: PasswordHash) {
    entries.insert(Entry(proof: proof, hash: hash, end: clock() + lifetime), for: name)
  }

  /// Forgets a password that was verified against a hash that is no longer the stored one.
  func remove(_ name: UserName, _ hash: PasswordHash) { entries.remove(name) { $0.hash == hash } }
}
