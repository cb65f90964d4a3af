internal import Foundation
internal import Platform
internal import Storage
internal import TestSupport
internal import Testing

@testable import Msgr

/// Topics whose nodes share a store.
@Suite(.ownThreads) struct TopicNodeTests {
  private let name = TopicName(stored: "alerts")

  private func requester(_ account: String) -> TopicRequester {
    TopicRequester(
      caller: .account(UserName(stored: account)), credential: .nothing, site: "127.0.0.1")
  }

  private func publish(_ text: String, at node: Running) async throws -> TopicEntry {
    let topics = node.fixture.service.topics
    let post = TopicPost(topic: name, id: topics.makeID(), text: text)
    return try await topics.publish(post, by: requester("anna"))
  }

  /// Opens a stream of the topic.
  private func stream(since: String, at node: Running, _ token: String) async throws -> TestSocket {
    let socket = try TestSocket(port: node.port, target: "/alerts/ws?since=\(since)", token: token)
    #expect(try await socket.nextObject()["event"] as? String == "open")
    return socket
  }

  private func next(_ socket: TestSocket) async throws -> String? {
    try await socket.nextObject()["message"] as? String
  }

  @Test(arguments: [false, true])
  func aMessageReachesStreamsAtAnotherNode(_ noticesAreLost: Bool) async throws {
    try await withNodes(2, polls: noticesAreLost) { nodes in
      let token = try await nodes[0].fixture.register("anna")
      _ = try await publish("before", at: nodes[0])
      let socket = try await stream(since: "all", at: nodes[1], token)
      #expect(try await next(socket) == "before")
      for number in 0..<20 { _ = try await publish("\(number)", at: nodes[number % 2]) }
      for number in 0..<20 { #expect(try await next(socket) == "\(number)") }
    }
  }

  @Test func aDelayedMessageComesOnce() async throws {
    try await withNodes(2) { nodes in
      try await nodes[0].fixture.register("anna")
      let topics = nodes.map { $0.fixture.service.topics }
      var post = TopicPost(topic: name, id: topics[0].makeID(), text: "later")
      post.due = topics[0].now + .seconds(60)
      _ = try await topics[0].publish(post, by: requester("anna"))
      for node in nodes { node.fixture.clock.advance(by: .seconds(61)) }
      try await waitUntil {
        try await topics[1].poll(
          [name], since: .all, TopicFilter(), withWaiting: false, by: requester("anna")
        ).all().map(\.text) == ["later"]
      }
      #expect(try await topics[0].store.due().isEmpty)
    }
  }

  @Test func aDeletionReachesStreamsAtAnotherNode() async throws {
    try await withNodes(2) { nodes in
      try await nodes[0].fixture.register("anna")
      let token = try await nodes[1].fixture.login("anna", device: "stream:anna-0001")
      let topics = nodes[0].fixture.service.topics
      let anna = requester("anna")
      _ = try await topics.store.subscribe(
        UserName(stored: "anna"), to: name, isPushed: false, by: anna)
      let socket = try nodes[1].stream(token)
      var post = TopicPost(topic: name, id: topics.makeID(), text: "40 %")
      post.sequence = "job"
      _ = try await topics.publish(post, by: anna)
      #expect(try await socket.nextObject()["Message"] as? String == "40 %")
      _ = try await topics.close("job", of: name, as: .clearing, by: anna)
      let cleared = try await socket.nextObject()["Cleared"] as? [String: String]
      #expect(cleared == ["Topic": "alerts", "Sequence": "job"])
      _ = try await topics.close("job", of: name, as: .deletion, by: anna)
      let deleted = try await socket.nextObject()["Deleted"] as? [String: String]
      #expect(deleted == ["Topic": "alerts", "Sequence": "job"])
    }
  }

  @Test func manyWritersLeaveNothingOut() async throws {
    try await withNodes(2) { nodes in
      let token = try await nodes[0].fixture.register("anna")
      _ = try await publish("first", at: nodes[0])
      let socket = try await stream(since: "none", at: nodes[1], token)
      try await withThrowingTaskGroup { group in
        for number in 0..<100 {
          group.addTask { _ = try await publish("\(number)", at: nodes[number % 2]) }
        }
        try await group.waitForAll()
      }
      var seen: [String] = []
      for _ in 0..<100 { seen.append(try await next(socket) ?? "") }
      #expect(Set(seen).count == 100)
      let stored = try await nodes[0].fixture.service.topics.poll(
        [name], since: .all, TopicFilter(), withWaiting: false, by: requester("anna")
      ).all()
      #expect(stored.map(\.text) == ["first"] + seen)
    }
  }

  @Test func unusedTopicsGoAndNoOthers() async throws {
    try await withNodes(1) { nodes in
      let fixture = nodes[0].fixture
      let topics = fixture.service.topics
      try await fixture.register("anna")
      let old = fixture.clock.now - .seconds(31 * 86_400)
      let now = fixture.clock.now
      func insert(_ topic: String, _ owner: String?, usedAt used: Timestamp) async throws {
        try await topics.store.store.write { transaction in
          try transaction.execute(
            """
            INSERT INTO msgr_topics (topic, owner, everyone, created_at, used_at)
            VALUES (?, ?, 0, ?, ?)
            """, topic, owner, old, used)
        }
      }
      try await insert("quiet", nil, usedAt: old)
      try await insert("busy", nil, usedAt: now)
      try await insert("upabcdefghijkl", "anna", usedAt: now)
      // They look like UnifiedPush's, and are as many as are looked at once.
      for number in 100..<220 { try await insert("up-aaaaaaaa\(number)", "anna", usedAt: old) }
      try await topics.tidy()
      let left: [String] = try await topics.store.store.read { snapshot in
        try snapshot.values("SELECT topic FROM msgr_topics ORDER BY topic")
      }
      #expect(left == ["busy"] + (100..<220).map { "up-aaaaaaaa\($0)" })
    }
  }

  /// They go in steps, of which a wallet's proof may confirm the first alone.
  @Test(arguments: ["account", "topic"]) func manyMessagesGoWithTheir(owner: String) async throws {
    try await withNodes(1) { nodes in
      let fixture = nodes[0].fixture
      try await fixture.register("anna")
      _ = try await publish("x", at: nodes[0])
      let topics = fixture.service.topics
      try await topics.store.store.write { transaction in
        for number in 0..<1100 {
          try transaction.execute(
            """
            INSERT INTO msgr_topic_entries (topic, id, event, time, stored_at, expires_at,
              is_transient, sequence, text, parts, is_base64)
            SELECT topic, ?, event, time, stored_at, expires_at, is_transient, ?, text, parts,
              is_base64
            FROM msgr_topic_entries LIMIT 1
            """, "m\(number)", "m\(number)")
        }
        try transaction.execute("UPDATE msgr_topics SET entries = 1101")
      }
      if owner == "account" {
        #expect(
          try await fixture.post("/delete", ["Username": "anna", "Password": "pw"]).status == 200)
      } else {
        try await topics.store.remove(name, by: UserName(stored: "anna"))
      }
      let left: Int? = try await topics.store.store.read { snapshot in
        try snapshot.value(
          """
          SELECT (SELECT count(*) FROM msgr_topic_entries) + (SELECT count(*) FROM msgr_topics)
          """)
      }
      #expect(left == 0)
    }
  }

  @Test func anAccountsTopicsGoWithItAndTheirNamesAreBarred() async throws {
    try await withNodes(1) { nodes in
      let fixture = nodes[0].fixture
      for account in ["anna", "bert"] { try await fixture.register(account) }
      _ = try await publish("x", at: nodes[0])
      #expect(
        try await fixture.post("/delete", ["Username": "anna", "Password": "pw"]).status == 200)
      let topics = fixture.service.topics
      await #expect(throws: TopicRefusal.forbidden) {
        let post = TopicPost(topic: name, id: topics.makeID(), text: "mine")
        _ = try await topics.publish(post, by: requester("bert"))
      }
      try await topics.tidy()
      fixture.clock.advance(by: .seconds(31 * 86_400))
      try await topics.tidy()
      let post = TopicPost(topic: name, id: topics.makeID(), text: "mine")
      #expect(try await topics.publish(post, by: requester("bert")).text == "mine")
    }
  }
}
