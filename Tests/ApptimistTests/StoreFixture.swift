internal import ApptimistProtocol
internal import Cryptography
internal import Foundation
internal import Observability
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Apptimist

/// Passes a store on PostgreSQL, as nodes share it, with a database of its own.
func withSharedStore(
  _ body: nonisolated(nonsending) (ApptimistStore) async throws -> Void
) async throws {
  let server = try PostgreSQLServer.shared.get()
  let database = try server.makeDatabase()
  let store = try await Store.open(
    .postgreSQL(try PostgreSQLAddress(server.url(of: database))),
    migrations: ApptimistService.migrations)
  try await body(ApptimistStore(store: store, limits: ApptimistStore.Limits()))
  await store.close()
  try server.removeDatabase(database)
}

/// A database of its own, removed when the test is over.
final class StoreFixture: Sendable {
  private let folder: TemporaryFolder

  init(in folder: TemporaryFolder = TemporaryFolder()) { self.folder = folder }

  /// Opens the database, a new one or the same again.
  func open(
    _ limits: ApptimistStore.Limits = ApptimistStore.Limits()
  ) async throws -> ApptimistStore {
    let store = try await TestStore.open(
      "\(folder.path)/awd.sqlite3", migrations: ApptimistStore.migrations)
    return ApptimistStore(store: store, limits: limits)
  }

  /// Copies the database as a crash at this moment would leave it.
  func copy() throws -> StoreFixture {
    if TestStore.isPostgreSQL {
      try TestStore.disconnect("\(folder.path)/awd.sqlite3")
      return StoreFixture(in: folder)
    }
    let copy = StoreFixture()
    // Copied in this order, the log has all that the file lacks: no test writes so much that it is
    // emptied meanwhile.
    for file in ["awd.sqlite3", "awd.sqlite3-wal"] {
      try FileManager.default.copyItem(
        atPath: "\(folder.path)/\(file)", toPath: "\(copy.folder.path)/\(file)")
    }
    return copy
  }

  /// Makes a key of a number.
  static func key(_ number: Int) -> EncryptionPublicKey { fixed(number) }

  static func authenticationKey(_ number: Int) -> AuthenticationPublicKey { fixed(number) }

  /// The login of a user by version 1.
  static func login(_ number: Int) -> AccountLogin {
    AccountLogin(
      user: key(number), authenticationKey: authenticationKey(number), isVersion1: true)
  }

  /// An account that somebody wants to make.
  ///
  /// - Parameter signer: the number of the key of its signatures, or nil for the same number.
  static func account(
    _ number: Int, name: String, uid: String = "", signer: Int? = nil, isProven: Bool = false
  ) throws -> RequestedAccount {
    try RequestedAccount(
      key: key(number), authenticationKey: authenticationKey(signer ?? number),
      name: #require(AccountName(name)), uid: uid, isProven: isProven)
  }

  static func id(_ number: Int) -> MessageID { fixed(number) }

  private static func fixed<Value: FixedBytes>(_ number: Int) -> Value {
    let digits = withUnsafeBytes(of: number.bigEndian) { Array($0) }
    return Value(digits + Array(repeating: 0xA5, count: Value.byteCount - 8)) ?? Value()
  }
}

extension ApptimistStore {
  static let now = Timestamp(milliseconds: 1_800_000_000_000)

  /// Makes users whose keys are numbers.
  func makeUsers(_ numbers: some Sequence<Int> & Sendable) async throws {
    for number in numbers { _ = try await makeUser(number) }
  }

  func makeUser(
    _ number: Int, name: String? = nil, uid: String? = nil, invitation: InvitationHash? = nil,
    at now: Timestamp = now
  ) async throws -> NewUser {
    try await createUser(
      StoreFixture.account(number, name: name ?? "user \(number)", uid: uid ?? "uid \(number)"),
      invitation: invitation, at: now)
  }

  func prove(
    _ user: EncryptionPublicKey, _ authenticationKey: AuthenticationPublicKey, closes: Bool
  ) async throws -> Bool {
    try await prove(user, authenticationKey, closes: closes, at: Self.now)
  }

  func remember(
    _ hash: EphemeralKeyHash, of user: EncryptionPublicKey, until end: Timestamp
  ) async throws -> Bool {
    try await remember(hash, of: user, at: Self.now, until: end)
  }

  /// Makes users contacts of each other, so that none is a stranger.
  func makeContacts(_ numbers: some Sequence<Int> & Sendable) async throws {
    for owner in numbers {
      for contact in numbers where contact != owner {
        try await recordContact(
          StoreFixture.key(contact), of: StoreFixture.login(owner), at: Self.now)
      }
    }
  }

  func makeForum(_ number: Int, name: String = "forum", author: Int) async throws -> ErrorCode {
    try await createForum(
      StoreFixture.account(number, name: name), author: StoreFixture.login(author))
  }

  func deleteForum(_ number: Int, by user: Int) async throws -> ErrorCode {
    try await removeForum(StoreFixture.key(number), by: StoreFixture.login(user))
  }

  /// Delivers messages all in one transaction.
  func deliver(
    _ copies: [MessageCopy], from sender: AccountLogin
  ) async throws -> [Delivered] {
    try await deliver([copies[...]], from: sender).flatMap { try $0.get().results }
  }

  /// Delivers a message whose identifier is a number.
  func send(
    _ id: Int, from sender: Int, to recipient: Int, header: [UInt8] = [1], data: [UInt8] = [2]
  ) async throws -> Delivered? {
    try await deliver(
      [
        MessageCopy(
          recipient: StoreFixture.key(recipient), id: StoreFixture.id(id), header: header,
          data: data)
      ], from: StoreFixture.login(sender)
    ).first
  }

  func truncate(_ id: Int, of user: Int) async throws -> Truncation {
    try await truncate(StoreFixture.id(id), of: StoreFixture.login(user)).truncation
  }

  /// Reads all entries behind a position, in pages.
  func entries(
    of user: Int, after start: MailboxPosition = .zero, maxBytes: Int = .max, maxEntries: Int = 1000
  ) async throws -> [MailboxEntry] {
    var entries: [MailboxEntry] = []
    var end = start
    while true {
      let page = try await page(
        of: StoreFixture.key(user), after: end, maxBytes: maxBytes, maxEntries: maxEntries)
      entries += page.entries
      end = page.end
      if page.isLast { return entries }
    }
  }

  /// The last position that a user's mailbox has given away.
  func lastPosition(of user: EncryptionPublicKey) async throws -> MailboxPosition {
    try await readMailbox(of: user) { user, snapshot in
      try mailboxes.state(of: user, snapshot).last
    }
      ?? .zero
  }

  func count(_ sql: StaticString) async throws -> Int {
    try await store.read { snapshot in try snapshot.one(sql) { try $0[0] } ?? -1 }
  }

  /// The forum with a key.
  func forum(_ key: EncryptionPublicKey) async throws -> Forum? {
    guard case .forum(let forum) = try await recipient(key) else { return nil }
    return forum
  }

  func file(_ name: String, of directory: Int) async throws -> [UInt8]? {
    guard let name = Filename(name) else { return nil }
    return try await file(name, in: StoreFixture.key(directory))
  }

  func write(
    _ content: [UInt8], to name: String, of directory: Int, by user: Int
  ) async throws -> ErrorCode? {
    guard let name = Filename(name) else { return nil }
    return try await write(
      content, to: name, in: StoreFixture.key(directory), by: StoreFixture.login(user))
  }

  func remove(_ name: String, of directory: Int, by user: Int) async throws -> ErrorCode? {
    guard let name = Filename(name) else { return nil }
    return try await remove(name, in: StoreFixture.key(directory), by: StoreFixture.login(user))
  }

  func write(keys: [Int], to name: String, of directory: Int, by user: Int) async throws
    -> ErrorCode?
  {
    try await write(
      keys.flatMap { StoreFixture.key($0).bytes }, to: name, of: directory, by: user)
  }
}

/// An account as a search finds it.
struct FoundAccount: Equatable {
  let key: EncryptionPublicKey
  let name: String
  let uid: String

  init(_ user: Version2.User) {
    key = user.key
    name = user.name.text ?? ""
    uid = user.uid.text ?? ""
  }
}

extension ApptimistStore {
  private func count(_ text: String, _ max: Int) throws -> Int {
    let page = Version2.PageQuery(max: UInt16(clamping: max))
    return AccountSearch.name(.init(text: try #require(ShortBytes(text)), page: page))
      .count(upTo: limits.found)
  }

  func search(name: String, max: Int) async throws -> [FoundAccount] {
    try await accounts(name: name, behind: nil, max: count(name, max)).map { FoundAccount($0.user) }
  }

  func search(uid: String, max: Int) async throws -> [FoundAccount] {
    try await accounts(uid: uid, behind: nil, max: count(uid, max)).map { FoundAccount($0.user) }
  }

  func search(key: EncryptionPublicKey) async throws -> FoundAccount? {
    try await account(key).map { FoundAccount($0.user) }
  }
}
