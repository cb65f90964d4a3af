internal import ApptimistProtocol
internal import Cryptography
internal import TestSupport
internal import Testing

@testable import Apptimist

@Suite struct AccountDirectoryTests {
  private let fixture: StoreFixture

  init() { fixture = StoreFixture() }

  @Test(.enabled(if: TestStore.isSQLite)) func asksTheStoreOnceAfterEachChange() async throws {
    let store = try await fixture.open()
    let directory = AccountDirectory(store)
    let key = StoreFixture.key(9)
    #expect(try await directory.forum(key) == nil)
    try await store.makeUsers(1...2)
    _ = try await store.makeForum(9, author: 1)
    #expect(try await directory.forum(key)?.subscribers == [])
    #expect(try await store.write(keys: [2], to: "subscribers", of: 9, by: 1) == .done)
    #expect(try await directory.forum(key)?.subscribers == [])
    directory.forget(key)
    #expect(try await directory.forum(key)?.subscribers == [StoreFixture.key(2)])
    #expect(try await store.deleteForum(9, by: 1) == .done)
    directory.forget(key)
    #expect(try await directory.forum(key) == nil)
  }

  /// A forum that is looked up while it changes may be either, but later it is the changed one.
  @Test func keepsNothingThatWasReadBeforeAChange() async throws {
    let store = try await fixture.open()
    let directory = AccountDirectory(store)
    let key = StoreFixture.key(9)
    try await store.makeUsers(1...1)
    _ = try await store.makeForum(9, author: 1)
    for subscriber in 1...200 {
      async let asked = directory.forum(key)
      _ = try await store.write(keys: [subscriber], to: "subscribers", of: 9, by: 1)
      async let askedAgain = directory.forum(key)
      directory.forget(key)
      let forum = try await directory.forum(key)
      #expect(forum?.subscribers == [StoreFixture.key(subscriber)])
      _ = try await (asked, askedAgain)
      #expect(try await directory.forum(key)?.subscribers == [StoreFixture.key(subscriber)])
    }
  }

  @Test func tellsUsersFromForums() async throws {
    let store = try await fixture.open()
    let directory = AccountDirectory(store)
    try await store.makeUsers(1...1)
    _ = try await store.makeForum(9, author: 1)
    // The second time from memory.
    for _ in 0..<2 {
      guard case .user = try await directory.recipient(StoreFixture.key(1)) else {
        Issue.record("1 is no user")
        return
      }
      #expect(try await directory.forum(StoreFixture.key(9)) != nil)
      #expect(try await directory.recipient(StoreFixture.key(2)) == nil)
    }
    try await store.makeUsers(2...2)
    #expect(try await directory.recipient(StoreFixture.key(2)) != nil)
  }
}

extension AccountDirectory {
  fileprivate func recipient(_ key: EncryptionPublicKey) async throws -> MessageRecipient? {
    if let recipient = remembered(key) { return recipient }
    return try await read(key)
  }

  fileprivate func forum(_ key: EncryptionPublicKey) async throws -> Forum? {
    guard case .forum(let forum) = try await recipient(key) else { return nil }
    return forum
  }
}
