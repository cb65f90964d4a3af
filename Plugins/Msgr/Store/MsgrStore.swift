internal import Cryptography
internal import Observability
internal import Storage
internal import Time

/// All that the service keeps: accounts, contacts, devices, tokens and messages.
///
/// Who calls is found out in the same transaction as what is asked for, so that one trip to the
/// store is enough, and nothing changes in between.
struct MsgrStore: Sendable {
  /// What holds for what is stored.
  struct Limits: Sendable {
    /// How many messages an inbox holds.
    var inbox = 1000
    /// How long a message stays, in milliseconds.
    var messageAge: Int64 = 7 * 86_400_000
    /// How long a token lasts without use, in milliseconds.
    var tokenAge: Int64 = 90 * 86_400_000
    /// How many devices an account has; with one more, the one bound first leaves.
    var devices = 20
    /// How long a push waits that a stream is expected to make needless, in milliseconds.
    var pushHold: Int64 = 90_000
  }

  let store: Store
  let limits: Limits
  let clock: @Sendable () -> Timestamp

  /// After how long a token's use is noted again, in milliseconds: not with each request.
  static let tokenUseStep: Int64 = 86_400_000

  /// The time, in milliseconds since 1970.
  var now: Int64 { clock().milliseconds }
}

/// How a caller says who it is.
enum Caller: Sendable {
  /// By a token; another name beside it is refused.
  case token(TokenHash, claiming: UserName?)
  /// By name and password; whether that is the one of a stored hash, if that is known already.
  case password(UserName, isProven: @Sendable (PasswordHash) -> Bool)
}

/// What comes of an act that needs to know its caller.
enum Outcome<Value: Sendable>: Sendable {
  /// It is done.
  case done(Value)
  /// The password has to be checked against the hash first; nil: there is no such account.
  case unproven(PasswordHash?)
}

/// Who a caller turned out to be.
struct Identity: Sendable {
  let name: UserName
  /// The device of the token, if that is how the caller came.
  let device: DeviceID?
}

/// Why something isn't done.
enum Refusal: Error, Hashable, Sendable {
  /// The credentials are wrong, or the act isn't allowed: 403.
  case forbidden
  /// Too often: 429.
  case tooMany(retryAfter: Int)
  /// Too many passwords wait to be checked: 503.
  case busy
  /// The message doesn't fit into a push: 413.
  case tooLong
}

extension MsgrStore {
  /// Does something for a caller, in one transaction.
  ///
  /// - Throws: `.forbidden` if a token isn't good, what `body` throws, or ``StoreError``.
  func write<Value: Sendable>(
    as caller: Caller,
    _ body: @escaping @Sendable (borrowing Transaction, Identity) throws -> Value
  ) async throws -> Outcome<Value> {
    try await store.write { transaction in
      switch try identify(caller, transaction) {
      case .known(let identity, let staleToken):
        if let staleToken { try noteUse(of: staleToken, transaction) }
        return .done(try body(transaction, identity))
      case .unproven(let hash): return .unproven(hash)
      }
    }
  }

  /// Asks something for a caller, in one state of the database.
  ///
  /// - Throws: `.forbidden` if a token isn't good, what `body` throws, or ``StoreError``.
  func read<Value: Sendable>(
    as caller: Caller,
    _ body: @escaping @Sendable (borrowing Snapshot, Identity) throws -> Value
  ) async throws -> Outcome<Value> {
    let (outcome, staleToken): (Outcome<Value>, TokenHash?) = try await store.read { snapshot in
      switch try identify(caller, snapshot) {
      case .known(let identity, let staleToken):
        return (.done(try body(snapshot, identity)), staleToken)
      case .unproven(let hash): return (.unproven(hash), nil)
      }
    }
    if let staleToken {
      try await store.write { transaction in try noteUse(of: staleToken, transaction) }
    }
    return outcome
  }

  private enum Identification {
    case known(Identity, staleToken: TokenHash?)
    case unproven(PasswordHash?)
  }

  private func identify(
    _ caller: Caller, _ database: borrowing some Queryable & ~Copyable
  ) throws -> Identification {
    switch caller {
    case .password(let name, let isProven):
      guard let hash = try passwordHash(of: name, database) else { return .unproven(nil) }
      guard isProven(hash) else { return .unproven(hash) }
      return .known(Identity(name: name, device: nil), staleToken: nil)
    case .token(let token, let claimed):
      let now = now
      let found = try database.one(
        "SELECT username, device_id, used_at FROM msgr_tokens WHERE hash = ?", token
      ) { row in
        let name: UserName = try row[0]
        let device: DeviceID = try row[1]
        let usedAt: Int64 = try row[2]
        return (identity: Identity(name: name, device: device), usedAt: usedAt)
      }
      guard let found, found.usedAt > now - limits.tokenAge,
        claimed == nil || claimed == found.identity.name
      else { throw Refusal.forbidden }
      let isStale = found.usedAt < now - Self.tokenUseStep
      return .known(found.identity, staleToken: isStale ? token : nil)
    }
  }

  private func noteUse(of token: TokenHash, _ transaction: borrowing Transaction) throws {
    try transaction.execute("UPDATE msgr_tokens SET used_at = ? WHERE hash = ?", now, token)
  }

  /// The stored password of an account; nil if there is no such account.
  func passwordHash(
    of name: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> PasswordHash? {
    let stored: String? = try database.one(
      "SELECT password FROM msgr_users WHERE username = ?", name
    ) { try $0[0] }
    return stored.flatMap(PasswordHash.init(stored:))
  }

  /// Whether there is an account.
  func exists(
    _ name: UserName, _ database: borrowing some Queryable & ~Copyable
  ) throws -> Bool {
    try database.one("SELECT 1 FROM msgr_users WHERE username = ?", name) { _ in true } ?? false
  }
}
