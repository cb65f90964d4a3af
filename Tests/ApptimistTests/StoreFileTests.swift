internal import ApptimistProtocol
internal import Cryptography
internal import TestSupport
internal import Testing

@testable import Apptimist

@Suite struct StoreFileTests {
  private let fixture: StoreFixture

  init() { fixture = StoreFixture() }

  private func open(
    _ limits: ApptimistStore.Limits = ApptimistStore.Limits()
  ) async throws -> ApptimistStore {
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...5)
    _ = try await store.makeForum(10, author: 1)
    return store
  }

  @Test func filesAreWrittenReadAndRemoved() async throws {
    let store = try await open()
    #expect(try await store.file("a", of: 1) == nil)
    #expect(try await store.write([1, 2], to: "a", of: 1, by: 1) == .done)
    #expect(try await store.write([], to: "b", of: 1, by: 1) == .done)
    #expect(try await store.file("a", of: 1) == [1, 2])
    #expect(try await store.file("b", of: 1) == [])
    #expect(try await store.file("a", of: 2) == nil)
    #expect(try await store.write([3], to: "a", of: 1, by: 1) == .done)
    #expect(try await store.file("a", of: 1) == [3])
    #expect(try await store.remove("a", of: 1, by: 1) == .done)
    #expect(try await store.remove("a", of: 1, by: 1) == .notFound)
    #expect(try await store.file("a", of: 1) == nil)
    #expect(try await store.file("b", of: 1) == [])
    #expect(try await store.write([], to: "a", of: 99, by: 1) == .notFound)
    #expect(try await store.remove("a", of: 99, by: 1) == .notFound)
    #expect(try await store.file("author", of: 99) == nil)
  }

  @Test func namesThatLookTheSameAreDifferentFiles() async throws {
    let store = try await open()
    #expect(try await store.write([1], to: "\u{E9}", of: 1, by: 1) == .done)
    #expect(try await store.write([2], to: "e\u{301}", of: 1, by: 1) == .done)
    #expect(try await store.file("\u{E9}", of: 1) == [1])
    #expect(try await store.file("e\u{301}", of: 1) == [2])
  }

  @Test(arguments: [1, 10])
  func theAuthorAndTheEditorsWrite(_ directory: Int) async throws {
    let store = try await open()
    #expect(try await store.write([1], to: "a", of: directory, by: 2) == .notPermitted)
    #expect(try await store.write(keys: [3, 2], to: "editors", of: directory, by: 1) == .done)
    #expect(try await store.write(keys: [4, 2], to: "moderators", of: directory, by: 2) == .done)
    #expect(try await store.write(keys: [5], to: "subscribers", of: directory, by: 3) == .done)
    #expect(try await store.write([1], to: "a", of: directory, by: 2) == .done)
    #expect(try await store.remove("a", of: directory, by: 4) == .notPermitted)
    #expect(try await store.remove("none", of: directory, by: 4) == .notPermitted)
    #expect(try await store.remove("a", of: directory, by: 3) == .done)
    // The author, two editors, a moderator, a subscriber and a stranger.
    let expected = [
      (1, mayWrite: true, isMember: true), (2, true, true), (3, true, true), (4, false, true),
      (5, false, true), (77, false, false),
    ]
    for (user, mayWrite, isMember) in expected {
      let access = try await store.access(
        of: StoreFixture.key(user), to: StoreFixture.key(directory))
      #expect(access?.mayWrite == mayWrite && access?.isMember == isMember)
      #expect(access?.isForum == (directory == 10))
    }
    #expect(try await store.access(of: StoreFixture.key(1), to: StoreFixture.key(77)) == nil)
    // An editor may even remove the list of editors.
    #expect(try await store.remove("editors", of: directory, by: 2) == .done)
    #expect(try await store.write([1], to: "a", of: directory, by: 2) == .notPermitted)
  }

  @Test func theAuthorsFileIsNobodysToChange() async throws {
    let store = try await open()
    for directory in [1, 10] {
      #expect(try await store.file("author", of: directory) == StoreFixture.key(1).bytes)
      for name in ["author", "secret"] {
        #expect(
          try await store.write(keys: [2], to: name, of: directory, by: 1) == .notPermitted)
        #expect(try await store.remove(name, of: directory, by: 1) == .notPermitted)
      }
    }
  }

  @Test func listsHoldWholeKeysAndSoMany() async throws {
    var limits = ApptimistStore.Limits()
    limits.reservedKeys = 3
    let store = try await open(limits)
    for name in ["editors", "moderators", "subscribers"] {
      #expect(try await store.write([1], to: name, of: 10, by: 1) == .badContent)
      #expect(try await store.write(keys: [1, 2, 3], to: name, of: 10, by: 1) == .done)
      #expect(try await store.write(keys: [1, 2, 3, 4], to: name, of: 10, by: 1) == .overQuota)
      let tooLong = Array(repeating: UInt8(1), count: 97)
      #expect(try await store.write(tooLong, to: name, of: 10, by: 1) == .overQuota)
      #expect(try await store.file(name, of: 10)?.count == 96)
      #expect(try await store.write([], to: name, of: 10, by: 1) == .done)
    }
  }

  @Test func aDirectoryHasSoManyFilesAndBytes() async throws {
    var limits = ApptimistStore.Limits()
    limits.files = 2
    limits.directoryBytes = 10
    let store = try await open(limits)
    let six = Array(repeating: UInt8(0), count: 6)
    #expect(try await store.write(six, to: "a", of: 1, by: 1) == .done)
    #expect(try await store.write(six, to: "b", of: 1, by: 1) == .overQuota)
    #expect(try await store.write(six, to: "b", of: 2, by: 2) == .done)
    #expect(try await store.write(Array(six.prefix(4)), to: "b", of: 1, by: 1) == .done)
    #expect(try await store.write([], to: "c", of: 1, by: 1) == .overQuota)
    // In the place of the old ones they fit.
    #expect(try await store.write(Array(six.prefix(5)), to: "a", of: 1, by: 1) == .done)
    #expect(try await store.write(Array(six.prefix(5)), to: "b", of: 1, by: 1) == .done)
    #expect(try await store.write(six, to: "b", of: 1, by: 1) == .overQuota)
    #expect(try await store.remove("a", of: 1, by: 1) == .done)
    #expect(try await store.write([1], to: "c", of: 1, by: 1) == .done)
  }

  @Test func aForumKnowsWhoIsWhat() async throws {
    let store = try await open()
    let key = StoreFixture.key(10)
    #expect(try await store.write(keys: [2], to: "editors", of: 10, by: 1) == .done)
    #expect(try await store.write(keys: [3, 4, 3], to: "moderators", of: 10, by: 1) == .done)
    #expect(try await store.write(keys: [4, 77], to: "subscribers", of: 10, by: 1) == .done)
    #expect(try await store.escrow([1, 2, 3], of: key, by: StoreFixture.login(3)) == .notPermitted)
    #expect(try await store.forum(key)?.boxedSecret == nil)
    #expect(try await store.escrow([1], of: key, by: StoreFixture.login(1)) == .done)
    #expect(try await store.escrow([1, 2, 3], of: key, by: StoreFixture.login(2)) == .done)
    let forum = try #require(try await store.forum(key))
    #expect(forum.author == StoreFixture.key(1))
    #expect(forum.editors == [StoreFixture.key(2)])
    #expect(forum.moderators == [StoreFixture.key(3), StoreFixture.key(4)])
    #expect(forum.subscribers == [StoreFixture.key(4), StoreFixture.key(77)])
    #expect(forum.boxedSecret == [1, 2, 3])
    #expect(try await store.file("secret", of: 10) == nil)
    #expect(try await store.escrow(nil, of: key, by: StoreFixture.login(1)) == .done)
    #expect(try await store.forum(key)?.boxedSecret == nil)
    let user = StoreFixture.key(1)
    #expect(try await store.forum(user) == nil)
    #expect(try await store.escrow([1], of: user, by: StoreFixture.login(1)) == .notPermitted)
    #expect(
      try await store.escrow([1], of: StoreFixture.key(99), by: StoreFixture.login(1)) == .notFound)
  }
}
