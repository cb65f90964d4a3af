package import Storage

internal import Cryptography
internal import Ethereum
internal import MsgrResources
internal import Platform
internal import Push
internal import ServiceKit

/// The accounts, contacts, devices, tokens and messages that the service keeps.
///
/// A transaction takes values and returns values. It confirms its caller first, so that one trip to the store is enough
/// and nothing changes between the confirmation and the work.
struct MsgrStore: Sendable {
  /// The limits of the store.
  struct Limits: Sendable {
    /// The most messages of an inbox.
    var inbox = 1000
    /// The time that a message stays.
    var messageAge = Duration.seconds(7 * 86_400)
    /// The time that a token lasts without use.
    var tokenAge = Duration.seconds(90 * 86_400)
    /// The most devices of an account; with one more, the device that was bound first leaves.
    var devices = 20
    /// The most names of messages that are remembered of a sender, the latest ones.
    var clientIDs = 10_000
    /// The most users that an account adds, and the most that it blocks.
    var contacts = 2000
    /// The time that a push waits because a stream is expected to make it needless.
    var pushHold = Duration.seconds(90)
  }

  let store: Store
  let limits: Limits
  /// The outbox of pushes.
  let pushes: PushQueue
  let clock: @Sendable () -> Timestamp
  let randomBytes: @Sendable (Int) -> [UInt8]
  /// The part that depends on whether other nodes share the store.
  var strategy: any InboxStrategy = LocalInboxStrategy()
  /// What each site has stored; nil for a command, whose operator has no limit.
  var storage: MessageStorage?

  /// The time after which a token's use is recorded again, so that not every request writes.
  static let tokenUseStep = Duration.seconds(86_400)

  /// The time.
  var now: Timestamp { clock() }
}

/// The error of a transaction whose caller has another password or token than the one that was found good.
struct OutdatedCaller: Error {}

extension MsgrStore {
  /// Makes a store over a service's database, with its clock and randomness.
  ///
  /// - Parameter own: the deliveries if no other node shares the store.
  init(
    _ context: ServiceContext, _ configuration: MsgrConfiguration,
    own: LocalInboxStrategy = LocalInboxStrategy()
  ) {
    self.init(
      store: context.store, limits: configuration.store,
      pushes: context.pushes.queue(of: MsgrService.name, configuration.push, web: .on),
      clock: context.clock, randomBytes: context.randomBytes,
      strategy: context.store.isShared ? SharedInboxStrategy(node: context.node) : own)
  }

  /// Changes something for a caller, in one transaction.
  ///
  /// - Parameter names: the accounts that the change locks, so that other changes of them wait; with none, the change runs again
  ///   after a conflict.
  /// - Throws: ``OutdatedCaller``, the closure's error, or ``StoreError``.
  func write<Value: Sendable>(
    as caller: Caller, locking names: [UserName] = [],
    _ body: @escaping @Sendable (borrowing Transaction) throws -> Value
  ) async throws -> Value {
    try await store.write(isolation: names.isEmpty ? .serializable : .rowLocks) { transaction in
      try strategy.lock(names, transaction)
      if case .wallet(_, let proof) = caller { try use(proof, transaction) }
      if let token = try confirm(caller, transaction) { try recordUse(of: token, transaction) }
      return try body(transaction)
    }
  }

  /// Reads something for a caller, in one state of the database.
  ///
  /// - Throws: ``OutdatedCaller``, the closure's error, or ``StoreError``.
  func read<Value: Sendable>(
    as caller: Caller, _ body: @escaping @Sendable (borrowing Snapshot) throws -> Value
  ) async throws -> Value {
    let (value, token) = try await store.read { snapshot in
      let token = try confirm(caller, snapshot)
      return (try body(snapshot), token)
    }
    if let token { try await store.write { try recordUse(of: token, $0) } }
    return value
  }

  /// Confirms that a caller's password or token still stands.
  ///
  /// - Returns: the caller's token if its use is to be recorded again.
  /// - Throws: ``OutdatedCaller`` if it doesn't.
  private func confirm(
    _ caller: Caller, _ database: borrowing some Queryable & ~Copyable
  ) throws -> TokenHash? {
    switch caller {
    case .password(let name, let hash):
      let isStored = try database.exists(
        "SELECT 1 FROM msgr_users WHERE username = ? AND password = ?", name, hash.text)
      guard isStored else { throw OutdatedCaller() }
      return nil
    case .wallet(let name, let proof):
      let isOwn = try database.exists(
        """
        SELECT 1 FROM msgr_wallets JOIN msgr_users USING (username)
        WHERE address = ? AND chain = ? AND username = ? AND password = ''
        """, proof.address.lowercase, proof.chain.number, name)
      guard isOwn else { throw RequestRefusal.forbidden }
      return nil
    case .token(let token):
      let now = now
      let used: Timestamp? = try database.value(
        "SELECT used_at FROM msgr_tokens WHERE hash = ?", token.hash)
      guard let used, used > now - limits.tokenAge else { throw OutdatedCaller() }
      return used < now - Self.tokenUseStep ? token.hash : nil
    }
  }

  /// Returns the name of a caller, once the caller is confirmed.
  func name(of caller: Caller) async throws -> UserName {
    try await read(as: caller) { _ in caller.name }
  }

  private func recordUse(of token: TokenHash, _ transaction: borrowing Transaction) throws {
    try transaction.execute("UPDATE msgr_tokens SET used_at = ? WHERE hash = ?", now, token)
  }

  /// Finds the account and the device of a token.
  ///
  /// - Returns: nil if there is no such token, or it has ended.
  func boundToken(_ hash: TokenHash) async throws -> BoundToken? {
    let limit = now - limits.tokenAge
    return try await store.read { snapshot in
      try snapshot.one(
        "SELECT username, device_id FROM msgr_tokens WHERE hash = ? AND used_at > ?", hash, limit
      ) { BoundToken(hash: hash, name: try $0[0], device: try $0[1]) }
    }
  }

  /// Returns whether a device is linked to an account.
  func isBound(_ device: DeviceID, to name: UserName) async throws -> Bool {
    try await store.read(isOneQuery: true) { snapshot in
      try snapshot.exists(
        "SELECT 1 FROM msgr_devices WHERE device_id = ? AND username = ?", device, name)
    }
  }

  /// Returns the stored hash of an account's password, or nil if there is no such account.
  func passwordHash(of name: UserName) async throws -> PasswordHash? {
    let stored: String? = try await store.read { snapshot in
      try snapshot.value("SELECT password FROM msgr_users WHERE username = ?", name)
    }
    return stored.flatMap(PasswordHash.init(stored:))
  }

  /// Returns whether there is an account.
  func exists(_ name: UserName, _ database: borrowing some Queryable & ~Copyable) throws -> Bool {
    try database.exists("SELECT 1 FROM msgr_users WHERE username = ?", name)
  }
}

extension MsgrStore {
  /// The history of the service's tables, which begins with version 1.0.0.
  static let migrations =
    Pushes.migrations + [
      Migration(
        owner: MsgrService.name, number: 1, sqlite: Resource(msgr_schema_sqlite_sql()).bytes,
        postgreSQL: Resource(msgr_schema_postgresql_sql()).bytes)
    ]
}

// The values of messages as columns.

/// A text that is checked before it is stored.
package protocol StoredText: DatabaseValueConvertible {
  var text: String { get }
  init(stored text: String)
}

extension StoredText {
  /// The text, as TEXT.
  package var databaseValue: DatabaseValue { .text(text) }

  /// Takes a stored text.
  package init?(databaseValue: DatabaseValue) {
    guard case .text(let text) = databaseValue else { return nil }
    self.init(stored: text)
  }
}

extension UserName: StoredText {}
extension ClientID: StoredText {}
extension DeviceID: StoredText {}
extension MessageText: StoredText {}
extension MsgrMessageID: DatabaseValueConvertible {}
