internal import Cluster
internal import Cryptography
internal import Ethereum
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr
@testable import Push

/// Nodes that share a PostgreSQL database.
@Suite(.withOtherPrograms, .ownThreads) struct NodeTests {
  @Test(arguments: [false, true])
  func whatOneNodeDoesAllShow(polls: Bool) async throws {
    try await withNodes(2, polls: polls) { nodes in
      let here = nodes[0].fixture
      let there = nodes[1].fixture
      try await here.register("anna", device: "stream:anna-phone")
      try await here.register("bert")
      // Registered on one node, logged in on the other.
      let login = try await there.post(
        "/login", ["Username": "anna", "Password": "pw", "DeviceID": "stream:anna-desk"])
      let token = try #require(login.object["Token"] as? String)
      let streams = [try nodes[0].stream(token), try nodes[1].stream(token)]
      for number in 0..<10 {
        try await (number % 2 == 0 ? here : there).send("\(number)", from: "bert", to: "anna")
      }
      for stream in streams {
        for number in 0..<10 {
          #expect(try await stream.nextObject()["Message"] as? String == "\(number)")
        }
      }
      // What a password says on one node, streams of the other learn.
      _ = try await here.post(
        "/password", ["Username": "anna", "Password": "pw", "NewPassword": "pw2"])
      for stream in streams {
        guard case .closed(1008) = try await stream.next() else {
          Issue.record("the token has ended, and its stream goes on")
          continue
        }
      }
      #expect(try await there.texts("bert").isEmpty)
    }
  }

  @Test func anAccountIsDisabledOnAllNodes() async throws {
    try await withNodes(2) { nodes in
      let here = nodes[0].fixture
      let there = nodes[1].fixture
      for name in ["anna", "bert"] {
        try await here.register(name, device: "stream:\(name)-phone")
      }
      try await there.send("before", from: "bert", to: "anna")
      let anna = UserName(stored: "anna")
      #expect(try await here.service.service.store.setDisabled(true, anna))
      #expect(try await there.send("hello", from: "bert", to: "anna").status == 403)
      #expect(
        try await there.post("/contacts", ["Username": "anna", "Password": "pw"]).status == 403)
      #expect(try await here.service.service.store.setDisabled(false, anna))
      #expect(try await there.send("hello", from: "bert", to: "anna").status == 200)
      #expect(try await there.texts("anna") == ["before", "hello"])
    }
  }

  @Test func entriesAreReadWithTheirPredecessors() async throws {
    try await withNodes(1) { nodes in
      let fixture = nodes[0].fixture
      for name in ["anna", "bert"] {
        try await fixture.register(name, device: "stream:\(name)-phone")
      }
      for number in 0..<3 {
        try await fixture.send("\(number)", from: "bert", to: "anna")
        try await fixture.send("re: \(number)", from: "anna", to: "bert", as: "client-\(number)")
      }
      let store = fixture.service.service.store
      var places = [(user: UserName(stored: "carl"), position: MsgrMessageID.last)]
      var expected: [Message: MsgrMessageID] = [:]
      for name in ["anna", "bert"].map(UserName.init(stored:)) {
        var last = MsgrMessageID.zero
        for message in try await store.log(of: name, after: .zero).entries {
          expected[message] = last
          places.append((name, message.id))
          last = message.id
        }
        places.append((name, .last))
      }
      #expect(expected.count == 12)
      let read = try await store.entries(at: places)
      #expect(
        Dictionary(uniqueKeysWithValues: read.map { ($0.message, $0.predecessor) }) == expected)
    }
  }

  @Test func aLogOfManySendersIsInOrderOnAllNodes() async throws {
    try await withNodes(3, "messages_per_minute = 100000\n") { nodes in
      let token = try await nodes[0].fixture.register("anna")
      for sender in 0..<6 { try await nodes[0].fixture.register("sender \(sender)") }
      let streams = try nodes.map { try $0.stream(token) }
      try await withThrowingTaskGroup { group in
        for sender in 0..<6 {
          group.addTask {
            for number in 0..<20 {
              let response = try await nodes[(sender + number) % 3].fixture.send(
                "\(sender) \(number)", from: "sender \(sender)", to: "anna")
              #expect(response.status == 200)
            }
          }
        }
        try await group.waitForAll()
      }
      for stream in streams {
        var last = ""
        var texts: Set<String> = []
        for _ in 0..<120 {
          let message = try await stream.nextObject()
          let id = try #require(message["Id"] as? String)
          #expect(id > last)
          last = id
          texts.insert(try #require(message["Message"] as? String))
        }
        #expect(texts.count == 120)
      }
    }
  }

  @Test func aWalletsSignatureIsGoodOnceOnAllNodes() async throws {
    try await withNodes(2, WalletTests.toml) { nodes in
      for number in UInt8(5)..<10 {
        let wallet = try WalletTests.Wallet(number)
        var fields = try await wallet.proof(at: nodes[0].fixture)
          .compactMapValues { $0 as? String }
        fields["DeviceID"] = Fixture.device("wallet \(number)")
        fields["Username"] = "user \(number)"
        let outcomes = try await withThrowingTaskGroup { group in
          for index in 0..<8 {
            group.addTask { [fields] in
              try await nodes[index % 2].fixture.post("/msgr/wallet-login", fields).status
            }
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.sorted() == [200] + [Int](repeating: 403, count: 7))
      }
      // What one node has bound, the other knows; the last wallet of an account without a password stays.
      let wallet = try WalletTests.Wallet(5)
      let again = try await wallet.login(at: nodes[1].fixture, on: "other")
      #expect(again.object["Username"] as? String == "user 5")
      let token = try #require(again.object["Token"] as? String)
      func post(_ path: String, _ fields: [String: Any]) async throws -> TestResponse {
        try await nodes[0].fixture.post("/msgr/\(path)", fields, token: token)
      }
      let other = try await post(
        "wallet", try await WalletTests.Wallet(20).proof(at: nodes[1].fixture))
      #expect((other.object["Wallets"] as? [String])?.count == 2)
      #expect(
        try await post("wallet", try await WalletTests.Wallet(6).proof(at: nodes[1].fixture)).status
          == 403)
      let found = try await post("find", ["Address": try WalletTests.Wallet(20).address.lowercase])
      #expect(found.object["Username"] as? String == "user 5")
      let addresses = [wallet.address.lowercase, try WalletTests.Wallet(20).address.lowercase]
      // Both at once: one of them is the last.
      async let first = post("wallet", ["Remove": addresses[0]])
      async let second = nodes[1].fixture.post(
        "/msgr/wallet", ["Remove": addresses[1]], token: token)
      #expect([try await first.status, try await second.status].sorted() == [200, 403])
    }
  }

  @Test func whatPublishersSentIsTheirOwners() async throws {
    try await withNodes(1, "inbox_messages = 6\n") { nodes in
      try await MsgrStoreTests.expectPublishersToCountAsOwners(nodes[0].fixture)
    }
  }

  @Test func aStreamHoldsPushesOnAllNodes() async throws {
    try await withNodes(2) { nodes in
      let device = Fixture.device("anna")
      let token = try await nodes[0].fixture.register("anna")
      try await nodes[0].fixture.register("bert")
      let stream = try nodes[1].stream(token)
      let store = nodes[0].fixture.store
      func pushes() async throws -> [Bool] {
        let now = nodes[0].fixture.clock.now
        return try await store.read { snapshot in
          try snapshot.all(
            "SELECT due_at > ? FROM push_outbox WHERE device = ? ORDER BY id", now,
            Array(device.utf8)
          ) { try $0[0] }
        }
      }
      try await waitUntil {
        try await store.read { try $0.one("SELECT 1 FROM msgr_streams") { _ in true } ?? false }
      }
      try await nodes[0].fixture.send("one", from: "bert", to: "anna")
      #expect(try await stream.nextObject()["Message"] as? String == "one")
      #expect(try await pushes() == [true])
      // Nobody knows whether it arrived.
      stream.cut()
      try await waitUntil { try await pushes() == [false] }
      try await nodes[0].fixture.send("two", from: "bert", to: "anna")
      #expect(try await pushes() == [false, false])
      #expect(
        try await store.read { try $0.one("SELECT count(*) FROM msgr_streams") { try $0[0] } } == 0)
    }
  }

  @Test func aDeviceWithStreamsOfTwoNodesIsPushedToOnce() async throws {
    try await withNodes(2) { nodes in
      let device = Fixture.device("anna")
      let token = try await nodes[0].fixture.register("anna")
      try await nodes[0].fixture.register("bert")
      let streams = [try nodes[0].stream(token), try nodes[1].stream(token)]
      let store = nodes[0].fixture.store
      try await waitUntil {
        try await store.read { try $0.one("SELECT count(*) FROM msgr_streams") { try $0[0] } } == 2
      }
      try await nodes[0].fixture.send("one", from: "bert", to: "anna")
      for stream in streams {
        #expect(try await stream.nextObject()["Message"] as? String == "one")
      }
      let now = nodes[0].fixture.clock.now
      let held: [Bool] = try await store.read { snapshot in
        try snapshot.all(
          "SELECT due_at > ? FROM push_outbox WHERE device = ?", now, Array(device.utf8)
        ) { try $0[0] }
      }
      #expect(held == [true])
    }
  }

  @Test func aPushIsLentOnce() async throws {
    try await withNodes(3, "messages_per_minute = 100000\n") { nodes in
      try await nodes[0].fixture.register("bert")
      for number in 0..<40 { try await nodes[0].fixture.register("user \(number)") }
      try await withThrowingTaskGroup { group in
        for node in nodes {
          group.addTask {
            for number in 0..<40 {
              try await node.fixture.send("text", from: "bert", to: "user \(number)")
            }
          }
        }
        // Three outboxes lease and complete what there is meanwhile.
        for node in nodes {
          group.addTask {
            let service = node.fixture.service.service
            let store = PushStore(store: node.fixture.store, clock: service.store.clock)
            let source = MsgrPushes(store: service.store, page: "")
            let owner = node.fixture.service.service.randomBytes(16)
            var idle = 0
            while idle < 20 {
              let (pushes, _) = try await store.lease(
                atMost: 5, owner: owner, of: .apns, for: [MsgrService.name])
              idle = pushes.isEmpty ? idle + 1 : 0
              if pushes.isEmpty { try await Task.sleep(for: .milliseconds(50)) }
              for push in pushes {
                try await node.fixture.store.write { transaction in
                  // A second time would break the rule of the key.
                  try transaction.execute("INSERT INTO push_targets VALUES (?)", push.pushID)
                }
                try await store.complete(
                  push, owner: owner, .dropped(.refused), target: "t", source)
              }
            }
          }
        }
        try await group.waitForAll()
      }
      let counts = try await nodes[0].fixture.store.read { snapshot in
        try snapshot.one(
          "SELECT (SELECT count(*) FROM push_targets), (SELECT count(*) FROM push_outbox)"
        ) { [try $0[0] as Int, try $0[1] as Int] }
      }
      #expect(counts == [120, 0])
    }
  }

  @Test func failedLoginsCountOnAllNodes() async throws {
    try await withNodes(2, "failed_logins_name = 5\n") { nodes in
      try await nodes[0].fixture.register("anna")
      func login(_ node: Running) async throws -> Int {
        try await node.fixture.post(
          "/login", ["Username": "anna", "Password": "wrong", "DeviceID": Fixture.device("x")]
        ).status
      }
      for _ in 0..<5 { #expect(try await login(nodes[0]) == 403) }
      #expect(try await login(nodes[0]) == 429)
      try await waitUntil { try await login(nodes[1]) == 429 }
    }
  }

  @Test func failedLoginsByWalletsCountOnAllNodes() async throws {
    try await withNodes(2, WalletTests.toml + "failed_logins_address = 3\n") { nodes in
      let wallet = try WalletTests.Wallet(5)
      func login(_ node: Running) async throws -> Int {
        try await wallet.login(at: node.fixture, as: "anna", ["Signature": "0x00"]).status
      }
      let other = nodes[1].fixture
      let heard = other.bus.statistics.received
      for _ in 0..<3 { #expect(try await login(nodes[0]) == 403) }
      // A login at the same time would take the place of a failure that is told.
      try await waitUntil { other.bus.statistics.received >= heard + 3 }
      try await waitUntil { try await wallet.login(at: other, as: "anna").status == 429 }
    }
  }

  @Test func aNodeThatWasTakenForDeadIsBack() async throws {
    try await withNodes(2, polls: true) { nodes in
      let token = try await nodes[0].fixture.register("anna")
      let stream = try nodes[1].stream(token)
      let store = nodes[0].fixture.store
      func streams() async throws -> Int {
        try await store.read { try $0.one("SELECT count(*) FROM msgr_streams") { try $0[0] } ?? -1 }
      }
      try await waitUntil { try await streams() == 1 }
      try await store.write { try $0.execute("DELETE FROM store_nodes") }
      #expect(try await streams() == 0)
      for node in nodes {
        try await NodeRegistry(node.fixture.node, named: "test", version: "1", in: store)
          .sendHeartbeat()
      }
      try await waitUntil { try await streams() == 1 }
      stream.cut()
      try await waitUntil { try await streams() == 0 }
    }
  }

  @Test func whatNodesTellEachOtherIsReadAsItWasWritten() throws {
    let tokens = (0..<NodeMessage.tokensAtOnce).map { number in
      TokenHash(digest: SHA256.hash([UInt8(number)]))
    }
    for message in [
      .ended(tokens), .ended([]),
      .read(upTo: MsgrMessageID(rawValue: 0x18c), on: DeviceID(stored: "stream:x/änna b")),
      .read(upTo: .last, on: nil),
      .failure(place: "2001:db8::/48", isFamiliar: true),
      .failure(place: "", isFamiliar: false),
    ] as [NodeMessage] {
      #expect(NodeMessage(message.bytes) == message)
      #expect(message.bytes.count + 256 <= NodeNotification.limit)
      #expect(message.bytes.first != NotificationKind.entries)
    }
    for bytes in [[], [0, 1], [1, 1], [2], [2, 65], [3], [3, 2], [4]] as [[UInt8]] {
      #expect(NodeMessage(bytes) == nil)
    }
  }

  @Test func whatWasReadOnOneNodeIsShownOnTheOther() async throws {
    try await withNodes(2) { nodes in
      let here = nodes[0].fixture
      let there = nodes[1]
      let phone = try await here.register("anna", device: "stream:anna-phone")
      try await here.register("bert")
      let id = try #require(try await here.send("one", from: "bert", to: "anna").id)
      let desk = try await here.login("anna", device: "stream:anna-desk")
      let stream = try there.stream(desk)
      try await waitUntil {
        try await here.store.read {
          try $0.one("SELECT 1 FROM msgr_streams") { _ in true } ?? false
        }
      }
      // Nothing of what anybody sends is needed for it.
      _ = try await here.post("/read", ["With": "bert", "Id": id], token: phone)
      #expect(
        try await stream.nextObject()["Read"] as? [String: String] == ["With": "bert", "Id": id])
    }
  }

  @Test func aNoticeOfAnythingEndsNothing() async throws {
    try await withNodes(1) { nodes in
      let fixture = nodes[0].fixture
      let stream = try nodes[0].stream(try await fixture.register("anna"))
      let link = fixture.service.service.link
      for position in [MsgrMessageID.last, MsgrMessageID(rawValue: .max - 1)] {
        fixture.service.service.hub.publish([(UserName(stored: "anna"), .rumor(upTo: position))])
      }
      try await link.poll()
      try await fixture.send("m", from: "anna", to: "anna")
      #expect(try await stream.nextObject()["Message"] as? String == "m")
    }
  }
}
