internal import ApptimistProtocol
internal import Cryptography
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Apptimist

/// The data that only version 2 keeps in the store.
@Suite struct StoreVersion2Tests {
  private let fixture = StoreFixture()

  private static func device(_ number: UInt8) -> Acknowledgement.Device {
    let id = Version2.DeviceID([UInt8](repeating: number, count: 16)) ?? Version2.DeviceID()
    return Acknowledgement.Device(user: StoreFixture.key(1), id: id)
  }

  private static func beginning(
    of device: Acknowledgement.Device, in store: ApptimistStore
  ) async throws -> MailboxPosition? {
    let login = Version2.Login(
      user: device.user, signature: Signature(), possession: Version2.Possession(),
      device: device.id)
    let request = StreamRequest(login, authenticationKey: StoreFixture.authenticationKey(1))
    return try await store.beginning(request)?.start
  }

  @Test func keepsThePositionsOfTheLatestDevices() async throws {
    let store = try await fixture.open()
    try await store.makeUsers(1...2)
    for id in 1...3 { _ = try await store.send(id, from: 2, to: 1) }
    for number in 1...64 as ClosedRange<UInt8> {
      try await store.acknowledge([
        Acknowledgement(device: Self.device(number), position: MailboxPosition(rawValue: 2))
      ])
    }
    // The first one logs in again, so that the second is the one unused for longest.
    try await store.use(Self.device(1))
    try await store.acknowledge([
      Acknowledgement(device: Self.device(65), position: MailboxPosition(rawValue: 3))
    ])
    #expect(try await store.count("SELECT count(*) FROM apptimist_devices") == 64)
    let kept: [(UInt8, Int64)] = [(1, 2), (2, 0), (3, 2), (64, 2), (65, 3)]
    for (number, position) in kept {
      let start = try await Self.beginning(of: Self.device(number), in: store)
      #expect(start == MailboxPosition(rawValue: position), "device \(number)")
    }
    // One that was never there leaves no trace by logging in.
    try await store.use(Self.device(99))
    #expect(try await store.count("SELECT count(*) FROM apptimist_devices") == 64)
  }

  /// Of a login with the old key and a `new` with another one that come together, one is too late.
  @Test func aLoginAndANewDoNotBothSucceed() async throws {
    let store = try await fixture.open()
    let users = 1...40
    try await store.makeUsers(users)
    for user in users {
      async let proved = store.prove(
        StoreFixture.key(user), StoreFixture.authenticationKey(user), closes: user % 2 == 0)
      async let made = store.createUser(
        StoreFixture.account(
          user, name: "other", uid: "other", signer: user + 1000, isProven: true),
        at: ApptimistStore.now)
      let (isProved, new) = try await (proved, made)
      #expect(new == (isProved ? .taken : .gaveWay(forums: [])), "user \(user)")
      let key = StoreFixture.authenticationKey(isProved ? user : user + 1000)
      #expect(try await store.knownAccount(StoreFixture.key(user))?.authenticationKey == key)
    }
  }

  /// Requests of a version 1 session come too late once its account is lost.
  @Test(arguments: [false, true])
  func aLoginThatHoldsNoMoreChangesNothing(givesWay: Bool) async throws {
    let store = try await fixture.open()
    try await store.makeUsers(1...3)
    #expect(try await store.makeForum(10, author: 2) == .done)
    #expect(try await store.write(keys: [1], to: "editors", of: 10, by: 2) == .done)
    #expect(try await store.write([1], to: "a", of: 10, by: 1) == .done)
    #expect(try await store.vouch(for: StoreFixture.key(3), by: StoreFixture.login(1)) == .done)
    _ = try await store.send(1, from: 1, to: 2)
    _ = try await store.send(2, from: 2, to: 1)
    if givesWay {
      let new = try await store.createUser(
        StoreFixture.account(1, name: "owner", uid: "owner", signer: 99, isProven: true),
        at: ApptimistStore.now)
      #expect(new == .gaveWay(forums: []))
      // The owner is sent something anew.
      _ = try await store.send(2, from: 2, to: 1)
      #expect(try await store.vouchers(of: StoreFixture.key(3)) == [])
    } else {
      #expect(
        try await store.prove(
          StoreFixture.key(1), StoreFixture.authenticationKey(1), closes: true))
    }
    #expect(try await store.send(3, from: 1, to: 2) == .unknownRecipient)
    #expect(try await store.truncate(2, of: 1) == .never)
    #expect(try await store.makeForum(11, author: 1) == .notPermitted)
    #expect(try await store.deleteForum(10, by: 1) == .notPermitted)
    #expect(try await store.write([2], to: "a", of: 10, by: 1) == .notPermitted)
    #expect(try await store.remove("a", of: 10, by: 1) == .notPermitted)
    #expect(try await store.write([2], to: "a", of: 1, by: 1) == .notPermitted)
    #expect(try await store.vouch(for: StoreFixture.key(2), by: StoreFixture.login(1)) != .done)
    try await store.revokeVouch(for: StoreFixture.key(3), by: StoreFixture.login(1))
    #expect(try await store.vouchers(of: StoreFixture.key(3)).count == (givesWay ? 0 : 1))
    #expect(try await store.file("a", of: 10) == [1])
    #expect(try await store.entries(of: 1).map(\.id) == [StoreFixture.id(2)])
    #expect(try await store.entries(of: 2).map(\.id) == [StoreFixture.id(1)])
    // A session of version 2 goes on.
    let login = AccountLogin(
      user: StoreFixture.key(1),
      authenticationKey: StoreFixture.authenticationKey(givesWay ? 99 : 1), isVersion1: false)
    #expect(try await store.vouch(for: StoreFixture.key(2), by: login) == .done)
    try await store.expectConsistency()
  }

  @Test func anUninvitedOneIsNotToldThatTheKeyIsTaken() async throws {
    let store = try await fixture.open()
    let hash = try #require(InvitationHash(Array(repeating: 7, count: 32)))
    let end = Timestamp(milliseconds: ApptimistStore.now.milliseconds + 1000)
    _ = try await store.createUser(
      StoreFixture.account(1, name: "a", uid: "a", isProven: true), at: ApptimistStore.now)
    #expect(try await store.makeUser(1, invitation: hash) == .notInvited)
    try await store.addInvitation(hash, uid: nil, uses: 1, expires: end)
    #expect(try await store.makeUser(1, invitation: hash) == .taken)
    // It was not used up by that.
    #expect(try await store.makeUser(2, invitation: hash) == .created)
  }

  /// A restored store gives positions again that were given after the backup: in another epoch, to devices of which it
  /// knows no positions.
  @Test(.enabled(if: TestStore.isSQLite)) func aRestoredStoreBeginsAnEpoch() async throws {
    let folder = TemporaryFolder()
    let (database, backup) = ("\(folder.path)/a.sqlite3", "\(folder.path)/a.backup")
    let migrations = ApptimistService.migrations
    func open(_ path: String) async throws -> ApptimistStore {
      let store = try await TestStore.open(path, migrations: migrations)
      return ApptimistStore(store: store, limits: ApptimistStore.Limits())
    }
    let store = try await open(database)
    try await store.makeUsers(1...2)
    _ = try await store.send(1, from: 2, to: 1)
    let first = try await store.epoch()
    #expect(try await store.epoch() == first && first != 0)
    let position = MailboxPosition(rawValue: 1)
    try await store.acknowledge([Acknowledgement(device: Self.device(1), position: position)])
    #expect(try await Self.beginning(of: Self.device(1), in: store) == position)
    try Backup.make(
      of: .file(database), migrations: migrations, at: backup, with: [], version: "1",
      madeAt: Timestamp(seconds: 1)
    ) { _, _ in }
    await store.store.close()
    let restored = "\(folder.path)/b.sqlite3"
    try Backup(opening: backup, migrations: migrations).restore(
      to: restored, without: ApptimistConfiguration.unrestoredTables
    ) { _, _ in }
    let again = try await open(restored)
    #expect(try await again.entries(of: 1).count == 1)
    #expect(try await Self.beginning(of: Self.device(1), in: again) == .zero)
    #expect(try await again.epoch() != first)
    await again.store.close()
  }
}
