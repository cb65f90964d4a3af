internal import ApptimistProtocol
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Apptimist

/// What two devices leave for each other, and accounts that are deleted.
@Suite struct StoreLinkTests {
  private let fixture = StoreFixture()
  private let now = ApptimistStore.now

  private static func place(_ slot: Int, _ part: Int = 1) -> LinkPlace {
    let digits = String(slot)
    return LinkPlace(slot: String(repeating: "0", count: 32 - digits.count) + digits, part: part)
  }

  /// Puts a part, and returns the refusal, if it is refused.
  private func refusal(
    _ place: LinkPlace, from network: String, of site: String? = nil, at now: Timestamp,
    in store: ApptimistStore
  ) async throws -> LinkRefusal? {
    do {
      try await store.keep([1, 2, 3], at: place, from: network, of: site ?? network, at: now)
      return nil
    } catch let refusal as LinkRefusal {
      return refusal
    }
  }

  @Test func aPartIsReadOnceWithinTenMinutes() async throws {
    let store = try await fixture.open()
    let place = Self.place(1)
    #expect(try await store.consumeLink(at: place, at: now) == nil)
    #expect(try await refusal(place, from: "a", at: now, in: store) == nil)
    #expect(try await refusal(place, from: "b", at: now, in: store) == .taken)
    #expect(try await store.consumeLink(at: Self.place(1, 2), at: now) == nil)
    // Of all who ask at once one gets it.
    let taken = try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
      for _ in 0..<8 { group.addTask { [now] in try await store.consumeLink(at: place, at: now) } }
      var taken: [[UInt8]] = []
      for try await content in group { if let content { taken.append(content) } }
      return taken
    }
    #expect(taken == [[1, 2, 3]])
    #expect(try await refusal(place, from: "a", at: now, in: store) == .taken)
    let later = now + .seconds(600)
    #expect(try await refusal(place, from: "a", at: later, in: store) == nil)
    #expect(try await store.consumeLink(at: place, at: later + .seconds(600)) == nil)
    while try await store.expire(at: later + .seconds(600)) {}
    #expect(try await store.count("SELECT count(*) FROM apptimist_links") == 0)
  }

  @Test func aNetworkHasTwentySlotsAndAllAThousand() async throws {
    let store = try await fixture.open()
    for slot in 0..<20 {
      #expect(try await refusal(Self.place(slot), from: "greedy", at: now, in: store) == nil)
    }
    #expect(
      try await refusal(Self.place(20), from: "greedy", at: now, in: store) == .tooMany)
    // The other part of a slot that there is counts for nothing.
    #expect(try await refusal(Self.place(3, 2), from: "greedy", at: now, in: store) == nil)
    for slot in 100..<1080 {
      let moment = now + .milliseconds(slot)
      #expect(
        try await refusal(Self.place(slot), from: "network \(slot)", at: moment, in: store) == nil)
    }
    #expect(try await store.count("SELECT count(DISTINCT slot) FROM apptimist_links") == 1000)
    // The network with most loses its oldest one; the others keep theirs.
    let moment = now + .seconds(5)
    #expect(try await refusal(Self.place(2000), from: "new", at: moment, in: store) == nil)
    #expect(try await store.count("SELECT count(DISTINCT slot) FROM apptimist_links") == 1000)
    #expect(
      try await store.count("SELECT count(*) FROM apptimist_links WHERE network = 'greedy'") == 20)
    #expect(try await store.consumeLink(at: Self.place(100), at: moment) == [1, 2, 3])
    #expect(try await store.consumeLink(at: Self.place(2000), at: moment) == [1, 2, 3])
  }

  @Test func aNeighbourOfGreedyNetworksKeepsItsSlot() async throws {
    let store = try await fixture.open()
    #expect(
      try await refusal(Self.place(0), from: "neighbour", of: "site", at: now, in: store) == nil)
    for slot in 1..<1000 {
      let moment = now + .milliseconds(slot)
      #expect(
        try await refusal(
          Self.place(slot), from: "greedy \(slot / 20)", of: "site", at: moment, in: store) == nil)
    }
    let moment = now + .seconds(5)
    #expect(try await refusal(Self.place(1000), from: "new", at: moment, in: store) == nil)
    #expect(try await store.count("SELECT count(DISTINCT slot) FROM apptimist_links") == 1000)
    #expect(try await store.consumeLink(at: Self.place(0), at: moment) == [1, 2, 3])
    #expect(try await store.consumeLink(at: Self.place(1000), at: moment) == [1, 2, 3])
  }

  @Test func ofADeletedAccountOnlyTheKeyIsLeft() async throws {
    let store = try await fixture.open()
    try await store.makeUsers(1...3)
    #expect(try await store.makeForum(10, author: 1) == .done)
    #expect(try await store.write([1], to: "f", of: 1, by: 1) == .done)
    #expect(try await store.write(keys: [2], to: "subscribers", of: 10, by: 1) == .done)
    #expect(try await store.vouch(for: StoreFixture.key(2), by: StoreFixture.login(1)) == .done)
    #expect(try await store.vouch(for: StoreFixture.key(1), by: StoreFixture.login(2)) == .done)
    for id in 1...3 { _ = try await store.send(id, from: 2, to: 1) }
    _ = try await store.send(4, from: 1, to: 2)
    _ = try await store.truncate(2, of: 1)
    try await store.use(Acknowledgement.Device(user: StoreFixture.key(1), id: .init()))
    let forums = try await store.leave(StoreFixture.login(1))?.forums
    #expect(forums == [StoreFixture.key(10)])
    #expect(try await store.leave(StoreFixture.login(1)) == nil)
    for key in [StoreFixture.key(1), StoreFixture.key(10)] {
      #expect(try await store.recipient(key) == nil)
      #expect(try await store.search(key: key) == nil)
      #expect(try await store.knownAccount(key) == nil)
    }
    #expect(try await store.search(name: "user 1", max: 0).isEmpty)
    #expect(try await store.search(uid: "uid 1", max: 0).isEmpty)
    #expect(try await store.vouchers(of: StoreFixture.key(2)).isEmpty)
    #expect(try await store.send(5, from: 2, to: 1) == .unknownRecipient)
    #expect(try await store.send(6, from: 1, to: 2) == .unknownRecipient)
    // What others have got from there is theirs.
    #expect(try await store.entries(of: 2).count == 1)
    #expect(try await store.makeUser(1) == .taken)
    #expect(
      try await store.count(
        """
        SELECT (SELECT count(*) FROM apptimist_users WHERE kind = 2 AND name = '' AND uid IS NULL)
          + 10 * (SELECT count(*) FROM apptimist_files)
          + 100 * (SELECT count(*) FROM apptimist_devices)
          + 1000 * (SELECT count(*) FROM apptimist_vouchers)
        """) == 2)
    #expect(try await store.count("SELECT count(*) FROM apptimist_queues") == 2)
    try await store.expectConsistency()
  }
}
