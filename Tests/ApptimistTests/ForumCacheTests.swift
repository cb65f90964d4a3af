internal import Cryptography
internal import Testing

@testable import Apptimist

@Suite("Forums in memory") struct ForumCacheTests {
  private let fixture: StoreFixture

  init() throws { fixture = try StoreFixture() }

  @Test func asksTheStoreOnceAfterEachChange() async throws {
    let store = try await fixture.open()
    let cache = ForumCache(store)
    let key = StoreFixture.key(9)
    #expect(try await cache.forum(key) == nil)
    try await store.makeUsers(1...2)
    _ = try await store.makeForum(9, author: 1)
    #expect(try await cache.forum(key)?.subscribers == [])
    #expect(try await store.write(keys: [2], to: "subscribers", of: 9, by: 1) == .done)
    #expect(try await cache.forum(key)?.subscribers == [])
    cache.forget(key)
    #expect(try await cache.forum(key)?.subscribers == [StoreFixture.key(2)])
    #expect(try await store.deleteForum(key, by: StoreFixture.key(1)))
    cache.forget(key)
    #expect(try await cache.forum(key) == nil)
  }

  /// Who asks while a forum changes may be told either, but who asks later is told the change.
  @Test func keepsNothingThatWasReadBeforeAChange() async throws {
    let store = try await fixture.open()
    let cache = ForumCache(store)
    let key = StoreFixture.key(9)
    try await store.makeUsers(1...1)
    _ = try await store.makeForum(9, author: 1)
    for subscriber in 1...200 {
      async let asked = cache.forum(key)
      _ = try await store.write(keys: [subscriber], to: "subscribers", of: 9, by: 1)
      async let askedAgain = cache.forum(key)
      cache.forget(key)
      let forum = try await cache.forum(key)
      #expect(forum?.subscribers == [StoreFixture.key(subscriber)])
      _ = try await (asked, askedAgain)
      #expect(try await cache.forum(key)?.subscribers == [StoreFixture.key(subscriber)])
    }
  }
}
