internal import ApptimistProtocol
internal import Cryptography
internal import Observability
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Apptimist

@Suite struct StoreAccountTests {
  private let fixture: StoreFixture

  init() { fixture = StoreFixture() }

  private func open(
    _ limits: ApptimistStore.Limits = ApptimistStore.Limits()
  ) async throws -> ApptimistStore {
    try await fixture.open(limits)
  }

  @Test func theSameAccountAgainChangesNothing() async throws {
    let store = try await open()
    #expect(try await store.makeUser(1, name: "Anna", uid: "a") == .created)
    #expect(try await store.makeUser(1, name: "Other", uid: "a") == .sameAgain)
    #expect(try await store.makeUser(1, name: "Anna", uid: "b") == .taken)
    let found = try #require(try await store.search(key: StoreFixture.key(1)))
    #expect(found.name == "Anna" && found.uid == "a")
    #expect(
      try await store.knownAccount(StoreFixture.key(1))?.authenticationKey
        == StoreFixture.authenticationKey(1))
    let other = try await store.createUser(
      StoreFixture.account(1, name: "Anna", uid: "a", signer: 2), at: ApptimistStore.now)
    #expect(other == .taken)
    #expect(try await store.makeUser(2, name: "Anna", uid: "a") == .created)
  }

  @Test(arguments: [false, true]) func aUserIsRemoved(_ isDisabled: Bool) async throws {
    let store = try await open()
    let key = StoreFixture.key(1)
    #expect(try await store.makeUser(1, name: "Anna", uid: "a") == .created)
    if isDisabled {
      #expect(try await store.setDisabled(true, key, at: ApptimistStore.now))
    }
    #expect(try await store.removeUser(key))
    #expect(try await store.isDeleted(key))
    #expect(try await !store.isDisabled(uid: "a"))
    #expect(try await !store.removeUser(key))
    #expect(try await store.makeUser(1, name: "Anna", uid: "a") == .taken)
  }

  @Test func aRemovalThatFailsLeavesAUserDisabled() async throws {
    let store = try await open()
    let key = StoreFixture.key(1)
    #expect(try await store.makeUser(1, name: "Anna", uid: "a") == .created)
    #expect(try await store.setDisabled(true, key, at: ApptimistStore.now))
    try await store.store.write { transaction in
      try transaction.execute("ALTER TABLE apptimist_ephemeral_keys RENAME TO elsewhere")
    }
    await #expect(throws: StoreError.self) { try await store.removeUser(key) }
    try await store.store.write { transaction in
      try transaction.execute("ALTER TABLE elsewhere RENAME TO apptimist_ephemeral_keys")
    }
    #expect(try await store.isDisabled(uid: "a"))
    #expect(try await store.knownAccount(key) == nil)
    #expect(try await store.removeUser(key))
  }

  @Test func aUidIsComparedByItsBytes() async throws {
    let store = try await open()
    #expect(try await store.makeUser(1, uid: "e\u{301}") == .created)
    #expect(try await store.makeUser(1, uid: "\u{E9}") == .taken)
    #expect(try await store.search(uid: "\u{E9}", max: 0).isEmpty)
    #expect(try await store.search(uid: "e\u{301}", max: 0).count == 1)
  }

  @Test func anInvitationIsUsedWithTheAccountsMaking() async throws {
    let store = try await open()
    let hash = try #require(InvitationHash(Array(repeating: 7, count: 32)))
    let end = Timestamp(milliseconds: ApptimistStore.now.milliseconds + 1000)
    #expect(try await store.makeUser(1, invitation: hash) == .notInvited)
    #expect(try await store.knownAccount(StoreFixture.key(1)) == nil)
    try await store.addInvitation(hash, uid: nil, uses: 2, expires: end)
    #expect(try await store.makeUser(1, invitation: hash, at: end) == .notInvited)
    #expect(try await store.makeUser(1, invitation: hash) == .created)
    #expect(try await store.makeUser(1, invitation: hash) == .sameAgain)
    #expect(try await store.makeUser(2, invitation: hash) == .created)
    #expect(try await store.makeUser(3, invitation: hash) == .notInvited)
    // A retry needs none, even when it is used up.
    #expect(try await store.makeUser(2, invitation: hash) == .sameAgain)
  }

  @Test func anInvitationCanBeForOneUid() async throws {
    let store = try await open()
    let hash = try #require(InvitationHash(Array(repeating: 7, count: 32)))
    let end = Timestamp(milliseconds: ApptimistStore.now.milliseconds + 1000)
    try await store.addInvitation(hash, uid: "anna", uses: 1, expires: end)
    #expect(try await store.makeUser(1, uid: "bert", invitation: hash) == .notInvited)
    #expect(try await store.makeUser(1, uid: "anna", invitation: hash) == .created)
  }

  @Test func anInvitationWithOneUseMakesOneAccountOfTwoAtATime() async throws {
    let store = try await open()
    let hash = try #require(InvitationHash(Array(repeating: 7, count: 32)))
    let end = Timestamp(milliseconds: ApptimistStore.now.milliseconds + 1000)
    try await store.addInvitation(hash, uid: nil, uses: 1, expires: end)
    let made = try await withThrowingTaskGroup(of: NewUser.self) { group in
      for number in 1...20 {
        group.addTask { try await store.makeUser(number, invitation: hash) }
      }
      return try await group.reduce(into: 0) { $0 += $1 == .created ? 1 : 0 }
    }
    #expect(made == 1)
  }

  @Test func aUserMakesSoManyForums() async throws {
    var limits = ApptimistStore.Limits()
    limits.forums = 2
    let store = try await open(limits)
    try await store.makeUsers(1...2)
    #expect(try await store.makeForum(10, author: 3) == .notPermitted)
    #expect(try await store.makeForum(10, author: 1) == .done)
    #expect(try await store.makeForum(10, author: 1) == .keyTaken)
    #expect(try await store.makeForum(2, author: 1) == .keyTaken)
    #expect(try await store.makeForum(11, author: 10) == .notPermitted)
    #expect(try await store.makeForum(11, author: 1) == .done)
    #expect(try await store.makeForum(12, author: 1) == .overQuota)
    #expect(try await store.makeForum(12, author: 2) == .done)
    #expect(try await store.deleteForum(10, by: 1) == .done)
    // Its row stays, and counts.
    #expect(try await store.makeForum(13, author: 1) == .overQuota)
  }

  @Test func aDeletedForumLeavesItsKeyBehindAndNothingElse() async throws {
    let store = try await open()
    try await store.makeUsers(1...4)
    #expect(try await store.makeForum(10, name: "Club", author: 1) == .done)
    let key = StoreFixture.key(10)
    #expect(try await store.knownAccount(key)?.isForum == true)
    #expect(try await store.forum(key)?.author == StoreFixture.key(1))
    #expect(try await store.write(keys: [2], to: "editors", of: 10, by: 1) == .done)
    #expect(try await store.write(keys: [3], to: "subscribers", of: 10, by: 1) == .done)
    #expect(try await store.escrow([1, 2], of: key, by: StoreFixture.login(2)) == .done)
    #expect(try await store.vouch(for: key, by: StoreFixture.login(3)) == .done)
    #expect(try await store.deleteForum(10, by: 3) == .notPermitted)
    #expect(try await store.deleteForum(1, by: 1) == .notPermitted)
    #expect(try await store.deleteForum(99, by: 1) == .notFound)
    #expect(try await store.deleteForum(10, by: 2) == .done)
    #expect(try await store.deleteForum(10, by: 1) == .notFound)
    #expect(try await store.recipient(key) == nil)
    #expect(try await store.access(of: StoreFixture.key(1), to: key) == nil)
    #expect(try await store.search(key: key) == nil)
    #expect(try await store.search(name: "club", max: 0).isEmpty)
    #expect(try await store.search(name: "*", max: 0).count == 4)
    #expect(try await store.vouchers(of: key).isEmpty)
    #expect(try await store.vouch(for: key, by: StoreFixture.login(1)) != .done)
    #expect(try await store.count("SELECT count(*) FROM apptimist_files") == 0)
    #expect(try await store.count("SELECT count(*) FROM apptimist_secrets") == 0)
    #expect(try await store.makeForum(10, author: 1) == .keyTaken)
    #expect(try await store.makeUser(10) == .taken)
    let hash = try #require(EphemeralKeyHash(Array(repeating: 1, count: 16)))
    #expect(try await !store.mayServe(ephemeral: key, hash: hash))
  }

  @Test func anEphemeralKeyServesOnceForItsTime() async throws {
    var store = try await fixture.open()
    try await store.makeUsers(1...1)
    let end = Timestamp(milliseconds: ApptimistStore.now.milliseconds + 90 * 86_400_000)
    let hashes = (0..<3).compactMap { EphemeralKeyHash(Array(repeating: $0, count: 16)) }
    let free = StoreFixture.key(50)
    #expect(try await store.mayServe(ephemeral: free, hash: hashes[0]))
    #expect(try await store.remember(hashes[0], of: StoreFixture.key(1), until: end))
    #expect(try await !store.remember(hashes[0], of: StoreFixture.key(1), until: end))
    await store.store.close()
    store = try await fixture.open()
    #expect(try await !store.mayServe(ephemeral: free, hash: hashes[0]))
    #expect(try await store.mayServe(ephemeral: free, hash: hashes[1]))
    #expect(try await !store.mayServe(ephemeral: StoreFixture.key(1), hash: hashes[1]))
    #expect(try await !store.remember(hashes[0], of: StoreFixture.key(1), until: end))
    #expect(
      try await !store.expire(at: Timestamp(milliseconds: end.milliseconds - 1)))
    #expect(try await !store.remember(hashes[0], of: StoreFixture.key(1), until: end))
    #expect(try await !store.expire(at: end))
    #expect(try await store.remember(hashes[0], of: StoreFixture.key(1), until: end))
    #expect(EphemeralKeyHash(Array(repeating: 0, count: 15)) == nil)
    #expect(InvitationHash(Array(repeating: 0, count: 33)) == nil)
  }

  @Test func anEphemeralKeyBelongsToItsUserWhoHasSoMany() async throws {
    var limits = ApptimistStore.Limits()
    limits.rememberedConnections = 2
    let store = try await open(limits)
    try await store.makeUsers(1...2)
    let hashes = (0..<4).compactMap { EphemeralKeyHash(Array(repeating: $0, count: 16)) }
    func remember(_ hash: Int, of user: Int, day: Int64) async throws -> Bool {
      try await store.remember(
        hashes[hash], of: StoreFixture.key(user),
        until: Timestamp(milliseconds: ApptimistStore.now.milliseconds + day * 86_400_000))
    }
    #expect(try await !remember(0, of: 3, day: 1))
    #expect(try await remember(0, of: 1, day: 1))
    for hash in 1...3 { #expect(try await remember(hash, of: 2, day: Int64(hash))) }
    let free = StoreFixture.key(50)
    for (hash, isFree) in zip(hashes, [false, true, false, false]) {
      #expect(try await store.mayServe(ephemeral: free, hash: hash) == isFree)
    }
  }

  /// A message to many names a reader who has left since; the others go on, also where the log is read again.
  @Test func aReaderWhoLeavesStopsNobody() async throws {
    let store = try await open()
    try await store.makeUsers(1...3)
    let copies = [2, 3].map { reader in
      MessageCopy(
        recipient: StoreFixture.key(reader), id: StoreFixture.id(1), header: [1], data: [2])
    }
    #expect(try await store.deliver(copies, from: StoreFixture.login(1)).count == 2)
    #expect(try await store.leave(StoreFixture.login(3)) != nil)
    let again = try await fixture.copy().open()
    #expect(try await again.send(2, from: 1, to: 2, header: [3]) != nil)
    #expect(try await again.entries(of: 2).count == 2)
    _ = try await again.expire(at: ApptimistStore.now)
    #expect(try await again.leave(StoreFixture.login(2)) != nil)
    #expect(try await again.count("SELECT count(*) FROM apptimist_entries") == 0)
  }

  @Test func filesOfAllDirectoriesOfAUserCountTogether() async throws {
    var limits = ApptimistStore.Limits()
    limits.accountBytes = 100
    let store = try await open(limits)
    try await store.makeUsers(1...2)
    for forum in [10, 11] { #expect(try await store.makeForum(forum, author: 1) == .done) }
    let sixty = [UInt8](repeating: 1, count: 60)
    #expect(try await store.write(sixty, to: "f", of: 10, by: 1) == .done)
    #expect(try await store.write(sixty, to: "f", of: 11, by: 1) == .overQuota)
    #expect(try await store.write(sixty, to: "f", of: 1, by: 1) == .overQuota)
    #expect(try await store.write(sixty, to: "f", of: 2, by: 2) == .done)
    #expect(try await store.write(sixty, to: "f", of: 10, by: 1) == .done)
    #expect(try await store.remove("f", of: 10, by: 1) == .done)
    #expect(try await store.write(sixty, to: "f", of: 11, by: 1) == .done)
    #expect(try await store.deleteForum(11, by: 1) == .done)
    #expect(try await store.write(sixty, to: "f", of: 1, by: 1) == .done)
  }

  @Test func vouchersStandInTheOrderOfTheirMaking() async throws {
    var limits = ApptimistStore.Limits()
    limits.vouchers = 3
    let store = try await open(limits)
    try await store.makeUsers(1...5)
    let keys = (0...5).map(StoreFixture.key)
    for voucher in [3, 2, 4] {
      #expect(try await store.vouch(for: keys[1], by: StoreFixture.login(voucher)) == .done)
    }
    #expect(try await store.vouch(for: keys[1], by: StoreFixture.login(3)) == .done)
    #expect(try await store.vouchers(of: keys[1]) == [keys[3], keys[2], keys[4]])
    #expect(try await store.vouch(for: keys[1], by: StoreFixture.login(5)) == .done)
    #expect(try await store.vouchers(of: keys[1]) == [keys[3], keys[2], keys[4]])
    try await store.revokeVouch(for: keys[1], by: StoreFixture.login(3))
    try await store.revokeVouch(for: keys[1], by: StoreFixture.login(0))
    #expect(try await store.vouchers(of: keys[1]) == [keys[2], keys[4], keys[5]])
    #expect(try await store.vouch(for: keys[1], by: StoreFixture.login(3)) == .done)
    try await store.revokeVouch(for: keys[1], by: StoreFixture.login(2))
    #expect(try await store.vouchers(of: keys[1]) == [keys[4], keys[5], keys[3]])
    #expect(try await store.vouch(for: StoreFixture.key(99), by: StoreFixture.login(1)) != .done)
    #expect(try await store.vouchers(of: StoreFixture.key(99)).isEmpty)
  }
}
