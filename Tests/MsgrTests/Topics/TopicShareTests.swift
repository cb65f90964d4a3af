internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import Msgr

/// No site takes all topics, all places of those who subscribe, or all room for files.
@Suite struct TopicShareTests {
  private func register(
    _ name: String, from peer: String, _ fixture: Fixture
  ) async throws {
    let fields = ["Username": name, "Password": "pw", "DeviceID": Fixture.device(name)]
    #expect(try await fixture.post("/register", fields, from: peer).status == 200)
  }

  private func put(
    _ path: String, _ body: String, by name: String, _ fixture: Fixture,
    _ fields: [(name: String, value: String)] = []
  ) async throws -> TestResponse {
    let password = Data("\(name):pw".utf8).base64EncodedString()
    return try await fixture.request(
      .put, path, body: Array(body.utf8), fields: [("Authorization", "Basic \(password)")] + fields,
      isDialect: true)
  }

  @Test func aSiteHasATenthOfAllTopics() async throws {
    let fixture = try await Fixture("[msgr.topics]\ntopics = 30\ntopics_per_account = 2\n")
    for number in 1...4 { try await register("free\(number)", from: "192.0.2.\(number)", fixture) }
    try await register("other", from: "198.51.100.1", fixture)
    var statuses: [Int] = []
    for number in 1...4 {
      statuses.append(try await put("/topic\(number)", "x", by: "free\(number)", fixture).status)
    }
    #expect(statuses == [200, 200, 200, 429])
    #expect(try await put("/others", "x", by: "other", fixture).status == 200)
  }

  @Test func aSiteWhoseAddressesStandForManyUsersHasHalfOfAllTopics() async throws {
    let fixture = try await Fixture(
      "[msgr.topics]\ntopics = 30\ntopics_per_account = 2\n[server]\nusers_per_address = 100\n")
    for number in 1...16 { try await register("free\(number)", from: "192.0.2.\(number)", fixture) }
    try await register("other", from: "198.51.100.1", fixture)
    var statuses: [Int] = []
    for number in 1...16 {
      statuses.append(try await put("/topic\(number)", "x", by: "free\(number)", fixture).status)
    }
    #expect(statuses == Array(repeating: 200, count: 15) + [429])
    #expect(try await put("/others", "x", by: "other", fixture).status == 200)
  }

  @Test func theNetworksOfASiteHaveATenthOfAllTopicsWithoutAnAccount() async throws {
    let fixture = try await Fixture(
      "[msgr.topics]\naccess = \"open\"\ntopics = 30\ntopics_per_account = 1\n")
    var statuses: [Int] = []
    for (number, peer) in [1, 2, 3, 4, 5].map({ ($0, "2001:db8:7:\($0)::1") }) + [
      (6, "2001:db8:8::1")
    ] {
      statuses.append(
        try await fixture.request(
          .put, "/topic\(number)", body: Array("x".utf8), from: peer, isDialect: true
        ).status)
    }
    #expect(statuses == [200, 200, 200, 429, 429, 200])
  }

  @Test func aSiteHasATenthOfTheRoomForFiles() async throws {
    let fixture = try await Fixture(
      "[msgr.topics]\nattachments = \"100KiB\"\nattachments_per_account = \"8KiB\"\n")
    for number in 1...2 { try await register("free\(number)", from: "192.0.2.\(number)", fixture) }
    try await register("other", from: "198.51.100.1", fixture)
    func keeps(_ name: String) async throws -> Bool {
      let file = String(repeating: "x", count: 8000)
      let response = try await put(
        "/files-\(name)", file, by: name, fixture, [("Filename", "a.txt")])
      return response.object["attachment"] != nil
    }
    #expect(try await keeps("free1"))
    #expect(try await !keeps("free2"))
    #expect(try await keeps("other"))
  }

  @Test func filesWhoseLengthComesLateCountForTheirOwnerAndSite() async throws {
    let fixture = try await Fixture(
      "[msgr.topics]\nattachments = \"100KiB\"\nattachments_per_account = \"8KiB\"\n")
    for number in 1...2 { try await register("free\(number)", from: "192.0.2.\(number)", fixture) }
    let store = fixture.service.topics.store
    func requester(_ name: String) throws -> TopicRequester {
      TopicRequester(
        caller: .account(try UserName(name, in: .username)), credential: .nothing, site: nil)
    }
    func begin(_ name: String, _ size: Int, by user: String) async throws -> Bool {
      let requester = try requester(user)
      let file = TopicFile(
        name: name, fileName: "a.txt", type: "text/plain", size: size, expires: store.now,
        limitKey: requester.limitKey)
      return try await store.begin(file, by: requester)
    }
    #expect(try await begin("known", 100, by: "free1"))
    #expect(try await begin("late", 0, by: "free1"))
    // The owner has no bytes now, but a file.
    try await store.discard("known")
    #expect(try await store.resize("late", to: 8000, by: requester("free1")))
    #expect(try await store.fileBytes(of: requester("free1")) == 8000)
    // The site has a tenth of all room.
    #expect(try await begin("other", 0, by: "free2"))
    #expect(try await !store.resize("other", to: 8000, by: requester("free2")))
    try await store.discard("other")
    try await store.discard("late")
    #expect(try await begin("again", 8000, by: "free2"))
  }

  @Test func aSiteHasTenTimesWhatAnAccountMayHaveWaiting() async throws {
    let fixture = try await Fixture("[msgr.topics]\nwaiting = 1\n")
    for number in 1...12 { try await register("free\(number)", from: "192.0.2.\(number)", fixture) }
    try await register("other", from: "198.51.100.1", fixture)
    var statuses: [Int] = []
    for name in (1...12).map({ "free\($0)" }) + ["other"] {
      let response = try await put("/topic-\(name)", "x", by: name, fixture, [("Delay", "1h")])
      statuses.append(response.status)
    }
    #expect(statuses == Array(repeating: 200, count: 10) + [429, 429, 200])
  }

  @Test func delayedMessagesComeByTurnsOfSites() async throws {
    let fixture = try await Fixture("[msgr.topics]\nburst = 1000\n")
    try await register("busy", from: "192.0.2.1", fixture)
    try await register("other", from: "198.51.100.1", fixture)
    for number in 0..<40 {
      _ = try await put("/many", "\(number)", by: "busy", fixture, [("Delay", "10m")])
    }
    _ = try await put("/one", "x", by: "other", fixture, [("Delay", "11m")])
    fixture.clock.advance(by: .seconds(700))
    let due = try await fixture.service.topics.store.due()
    #expect(due["192.0.2.0/24"]?.count == 32)
    #expect(due["198.51.100.0/24"]?.map(\.topic.text) == ["one"])
    let task = Task { await fixture.service.topics.run() }
    defer { task.cancel() }
    try await waitUntil { try await fixture.service.topics.store.due().isEmpty }
  }

  @Test func aSiteHasSomeUploadsInProgress() async throws {
    let fixture = try await Fixture()
    try await register("free", from: "192.0.2.1", fixture)
    let topics = fixture.service.topics
    func requester(_ network: String) -> TopicRequester {
      TopicRequester(caller: .nobody, credential: .nothing, site: network)
    }
    var slots: [TopicSlot?] = []
    for number in 0..<16 {
      slots.append(try topics.uploadSlot(for: requester("127.0.0.\(number)")))
    }
    #expect(throws: TopicRefusal.tooManyUploads) {
      try topics.uploadSlot(for: requester("127.0.0.9"))
    }
    #expect(try topics.uploadSlot(for: requester("127.0.1.1")) != nil)
    let file = String(repeating: "x", count: 17 << 10)
    #expect(try await put("/topic", file, by: "free", fixture).status == 429)
    #expect(try await put("/topic", "x", by: "free", fixture).status == 200)
    slots.removeLast()
    #expect(try await put("/topic", file, by: "free", fixture).status == 200)
    #expect(topics.uploadSlots.count == 15)
  }

  @Test func aTopicNamesSomeUsers() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert", "cleo"] { try await register(name, from: "192.0.2.1", fixture) }
    var store = TopicStore(
      msgr: fixture.service.service.store, limits: fixture.service.topics.store.limits,
      files: fixture.service.topics.store.files)
    store.limits.named = 1
    let anna = try UserName("anna", in: .username)
    let topic = try #require(TopicName("news"))
    _ = try await store.make(topic, everyone: .read, by: anna)
    for level in [TopicLevel.read, .readWrite] {
      _ = try await store.allow(try UserName("bert", in: .username), level, on: topic, by: anna)
    }
    let cleo = try UserName("cleo", in: .username)
    await #expect(throws: TopicRefusal.tooManyNamed) {
      try await store.allow(cleo, .read, on: topic, by: anna)
    }
  }

  @Test func aSiteHasATenthOfTheSubscribersOfOthersTopics() async throws {
    let fixture = try await Fixture()
    try await register("owner", from: "198.51.100.1", fixture)
    for number in 1...3 {
      try await register("free\(number)", from: "192.0.2.\(number)", fixture)
      try await register("near\(number)", from: "198.51.100.\(number)", fixture)
    }
    var store = TopicStore(
      msgr: fixture.service.service.store, limits: fixture.service.topics.store.limits,
      files: fixture.service.topics.store.files)
    #expect(store.limits.subscribersPerSite == 100)
    store.limits.subscribersPerSite = 2
    let topic = try #require(TopicName("news"))
    _ = try await store.make(topic, everyone: .read, by: try UserName("owner", in: .username))
    var refused: [String] = []
    for name in ["free1", "free2", "free3", "near1", "near2", "near3", "free2"] {
      let account = try UserName(name, in: .username)
      let requester = TopicRequester(caller: .account(account), credential: .nothing, site: nil)
      do {
        _ = try await store.subscribe(account, to: topic, isPushed: false, by: requester)
      } catch TopicRefusal.tooManySubscribers { refused.append(name) }
    }
    #expect(refused == ["free3"])
  }

  @Test func newcomersOfOtherSitesFindAPlaceAmongSubscribers() async throws {
    let fixture = try await Fixture()
    try await register("owner", from: "198.51.100.1", fixture)
    for number in 1...3 { try await register("free\(number)", from: "192.0.2.\(number)", fixture) }
    for name in ["bert", "cleo"] { try await register(name, from: "203.0.113.1", fixture) }
    var store = TopicStore(
      msgr: fixture.service.service.store, limits: fixture.service.topics.store.limits,
      files: fixture.service.topics.store.files)
    store.limits.subscribers = 3
    let topic = try #require(TopicName("news"))
    func subscribe(_ name: String) async throws {
      let account = try UserName(name, in: .username)
      let requester = TopicRequester(caller: .account(account), credential: .nothing, site: nil)
      _ = try await store.subscribe(account, to: topic, isPushed: false, by: requester)
    }
    func isSubscribed(_ name: String) async throws -> Bool {
      let account = try UserName(name, in: .username)
      return try await store.topics(of: account).contains { $0.Topic == "news" && $0.Subscribed }
    }
    let owner = try UserName("owner", in: .username)
    _ = try await store.make(topic, everyone: .read, by: owner)
    for number in 1...3 { try await subscribe("free\(number)") }
    try await subscribe("bert")
    #expect(try await isSubscribed("bert"))
    #expect(try await !isSubscribed("free3"))
    await #expect(throws: TopicRefusal.tooManySubscribers) { try await subscribe("free3") }
    // Both sites would have two.
    await #expect(throws: TopicRefusal.tooManySubscribers) { try await subscribe("cleo") }
    // A subscriber with a place keeps it.
    try await subscribe("bert")
    #expect(try await isSubscribed("free1"))
  }
}
