internal import Formats
internal import Platform
internal import Storage
internal import TestSupport
internal import Testing

@testable import Msgr

/// The copies of a topic's messages in many inboxes.
@Suite(.ownThreads) struct TopicCopiesTests {
  private static let count = 40
  private let topic = TopicName(stored: "news")
  private let anna = TopicRequester(
    caller: .account(UserName(stored: "anna")), credential: .nothing, site: "127.0.0.1")

  /// A service with a topic of Anna's that has many subscribers.
  private func fixture(_ configuration: String = "burst = 1000") async throws -> Fixture {
    let fixture = try await Fixture("[msgr.topics]\n\(configuration)\n")
    try await fixture.register("anna")
    let store = fixture.service.topics.store
    for number in 0..<Self.count { try await fixture.register("reader\(number)") }
    for number in 0..<Self.count {
      let reader = UserName(stored: "reader\(number)")
      _ = try await store.subscribe(
        reader, to: topic, isPushed: false,
        by: number == 0 ? try await beginning(of: fixture) : requester(reader))
    }
    return fixture
  }

  private func requester(_ name: UserName) -> TopicRequester {
    TopicRequester(caller: .account(name), credential: .nothing, site: "127.0.0.1")
  }

  /// Makes the topic, which everyone may read.
  private func beginning(of fixture: Fixture) async throws -> TopicRequester {
    _ = try await fixture.service.topics.store.make(
      topic, everyone: .read, by: UserName(stored: "anna"))
    return requester(UserName(stored: "reader0"))
  }

  private func post(_ text: String, _ topics: TopicService) -> TopicPost {
    TopicPost(topic: topic, id: topics.makeID(), sequence: "s", text: text)
  }

  private func count(_ sql: StaticString, _ fixture: Fixture) async throws -> Int? {
    try await fixture.store.read { try $0.value(sql) }
  }

  @Test func allGetEachMessageOnceInOrder() async throws {
    let fixture = try await fixture()
    let topics = fixture.service.topics
    let entries = try await withThrowingTaskGroup(of: TopicEntry.self) { group in
      for number in 0..<5 {
        group.addTask { try await topics.publish(post("\(number)", topics), by: anna) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let order = entries.sorted { $0.number < $1.number }.map(\.text)
    for number in [0, 7, 20, 39] { #expect(try await fixture.texts("reader\(number)") == order) }
    #expect(try await count("SELECT count(*) FROM msgr_messages", fixture) == 5 * Self.count)
    #expect(try await count("SELECT count(*) FROM msgr_topic_copying", fixture) == 0)
  }

  @Test func whatANodeLeftIsCopiedOnce() async throws {
    let fixture = try await fixture()
    let topics = fixture.service.topics
    let store = topics.store
    for text in ["first", "second"] {
      _ = try await store.publish(post(text, topics), by: anna)
    }
    #expect(
      try await count("SELECT count(*) FROM msgr_messages", fixture) == TopicStore.copiesAtOnce)
    #expect(try await store.abandonedCopying().isEmpty)
    fixture.clock.advance(by: .seconds(4))
    #expect(try await store.abandonedCopying() == [topic])
    try await withThrowingTaskGroup { group in
      for _ in 0..<3 {
        group.addTask {
          while try await store.copyOn(in: topic, through: TopicPosition(rawValue: .max)) != nil {}
        }
      }
      try await group.waitForAll()
    }
    for number in 0..<Self.count {
      #expect(try await fixture.texts("reader\(number)") == ["first", "second"])
    }
    #expect(try await store.abandonedCopying().isEmpty)
  }

  @Test func fewLongCopiesAreMadeAtOnce() async throws {
    let fixture = try await fixture()
    let topics = fixture.service.topics
    let long = String(repeating: "x", count: 60_000)
    _ = try await topics.store.publish(post(long, topics), by: anna)
    #expect(try await count("SELECT count(*) FROM msgr_messages", fixture) == 4)
    _ = try await topics.publish(post(long, topics), by: anna)
    #expect(try await count("SELECT count(*) FROM msgr_messages", fixture) == 2 * Self.count)
  }

  @Test func whatIsDeletedMeanwhileIsCopiedNoFurther() async throws {
    let fixture = try await fixture()
    let topics = fixture.service.topics
    _ = try await topics.store.publish(post("wrong", topics), by: anna)
    _ = try await topics.close("s", of: topic, as: .deletion, by: anna)
    _ = try await topics.publish(post("right", topics), by: anna)
    for number in 0..<Self.count {
      #expect(try await fixture.texts("reader\(number)") == ["right"])
    }
  }

  @Test func copiesCountAsMessages() async throws {
    let fixture = try await fixture("burst = 10\nrefill = \"1h\"")
    let topics = fixture.service.topics
    func publish() async throws {
      try topics.chargePublishing(anna)
      _ = try await topics.publish(post("x", topics), by: anna)
    }
    // Each counts as three.
    for _ in 0..<4 { try await publish() }
    await #expect(throws: TopicRefusal.self) { try await publish() }
  }
}
