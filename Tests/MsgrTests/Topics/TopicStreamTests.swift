internal import Cluster
internal import Foundation
internal import Platform
internal import Storage
internal import TestSupport
internal import Testing
internal import Transport

@testable import Msgr

/// Streams of topics, beside the connections that they are read over.
@Suite(.ownThreads) struct TopicStreamTests {
  /// A connection that keeps what it is sent, and whose client reads when the test says so.
  ///
  /// Unchecked because all but `seen` is touched on its event loop only.
  private final class Reader: TopicStreamConnection, @unchecked Sendable {
    struct Seen {
      var texts: [String] = []
      var bytes: [[UInt8]] = []
      var end: TopicStreamEnd?
    }

    let loop: EventLoop
    private(set) var backlog = 0
    private var stream: TopicStream?
    private var isReading = true
    let seen = Lock(Seen())

    init(on loop: EventLoop) { self.loop = loop }

    func begin(_ start: TopicStreamStart, of topics: TopicService) {
      loop.execute { [self] in stream = TopicStream(start, of: topics, to: self) }
    }

    func send(_ entry: StreamedTopicEntry) {
      let bytes = entry.bytes(in: 0) { Array(NtfyMessage.json(of: $0).utf8) }
      if !isReading { backlog += bytes.count }
      seen.withLock { seen in
        seen.texts.append(entry.entry.text)
        seen.bytes.append(bytes)
      }
    }

    func end(_ reason: TopicStreamEnd) {
      seen.withLock { $0.end = reason }
      stream?.closed()
    }

    func stopReading() { loop.execute { [self] in isReading = false } }

    func readOn() {
      loop.execute { [self] in
        backlog = 0
        stream?.drained()
      }
    }

    func close() { loop.execute { [self] in stream.take()?.closed() } }

    var texts: [String] { seen.withLock { $0.texts } }
  }

  private let name = TopicName(stored: "alerts")

  private func requester(_ account: String) -> TopicRequester {
    TopicRequester(
      caller: .account(UserName(stored: account)), credential: .nothing, site: "127.0.0.1")
  }

  private func publish(_ text: String, in topics: TopicService) async throws {
    let post = TopicPost(topic: name, id: topics.makeID(), text: text)
    _ = try await topics.publish(post, by: requester("anna"))
  }

  /// Runs a test with a topic of Anna's and two event loops.
  private func withTopic(
    _ test: (Fixture, [EventLoop]) async throws -> Void
  ) async throws {
    let fixture = try await Fixture("[msgr.topics]\nburst = 10000\nmessages = 10000\n")
    for account in ["anna", "bert"] { try await fixture.register(account) }
    try await publish("first", in: fixture.service.topics)
    let loops = try (0..<2).map { number in try EventLoop(named: "topics-\(number)") }
    for loop in loops { try loop.start() }
    defer { for loop in loops { loop.execute { loop.end() } } }
    try await test(fixture, loops)
  }

  private func open(
    _ topics: TopicService, since: TopicSince = .none, as account: String = "anna",
    on loop: EventLoop
  ) async throws -> Reader {
    let reader = Reader(on: loop)
    reader.begin(
      try await topics.open([name], since: since, TopicFilter(), by: requester(account)), of: topics
    )
    return reader
  }

  @Test func aClientThatDoesNotReadMissesNothing() async throws {
    try await withTopic { fixture, loops in
      let topics = fixture.service.topics
      let quick = try await open(topics, since: .all, on: loops[0])
      let slow = try await open(topics, since: .all, on: loops[1])
      slow.stopReading()
      let long = String(repeating: "x", count: 10_000)
      for number in 0..<120 { try await publish("\(number) \(long)", in: topics) }
      try await waitUntil { quick.texts.count == 121 }
      // What waits is bounded: as much as the mark, and the message that passes it.
      #expect(slow.texts.count <= 8)
      try await waitUntil {
        slow.readOn()
        return slow.texts.count == 121
      }
      #expect(slow.texts == quick.texts)
      #expect(quick.texts.prefix(2).map { String($0.prefix(6)) } == ["first", "0 xxxx"])
      for reader in [quick, slow] { reader.close() }
      try await waitUntil { topics.hub.count == 0 && topics.streamSlots.count == 0 }
    }
  }

  @Test func whatWasThereComesInOneOrderOverAllTopics() async throws {
    try await withTopic { fixture, loops in
      let topics = fixture.service.topics
      let other = TopicName(stored: "other")
      let long = String(repeating: "x", count: 10_000)
      var expected = ["first"]
      for number in 0..<60 {
        for topic in [other, name] {
          let text = "\(topic.text) \(number) \(long)"
          let post = TopicPost(topic: topic, id: topics.makeID(), text: text)
          _ = try await topics.publish(post, by: requester("anna"))
          expected.append(text)
        }
      }
      let reader = Reader(on: loops[0])
      let slow = Reader(on: loops[1])
      slow.stopReading()
      for reader in [reader, slow] {
        let start = try await topics.open(
          [name, other], since: .all, TopicFilter(), by: requester("anna"))
        reader.begin(start, of: topics)
      }
      try await waitUntil { reader.texts.count == expected.count }
      #expect(reader.texts == expected)
      try await waitUntil {
        slow.readOn()
        return slow.texts.count == expected.count
      }
      #expect(slow.texts == expected)
      try await publish("live", in: topics)
      try await waitUntil { reader.texts.last == "live" }
      for reader in [reader, slow] { reader.close() }
    }
  }

  @Test func waitingMessagesComeAsTheClientReads() async throws {
    try await withTopic { fixture, loops in
      let topics = fixture.service.topics
      let long = String(repeating: "x", count: 10_000)
      for number in 0..<40 {
        var post = TopicPost(topic: name, id: topics.makeID(), text: "\(number) \(long)")
        post.due = topics.now + .seconds(100 + number)
        _ = try await topics.publish(post, by: requester("anna"))
      }
      let reader = Reader(on: loops[0])
      reader.stopReading()
      reader.begin(
        try await topics.open(
          [name], since: .all, TopicFilter(), withWaiting: true, by: requester("anna")), of: topics)
      try await waitUntil { reader.texts.count >= 7 }
      #expect(reader.texts.count <= 8)
      try await waitUntil {
        reader.readOn()
        return reader.texts.count == 41
      }
      #expect(reader.texts.map { $0.prefix { $0 != " " } } == ["first"] + (0..<40).map { "\($0)" })
      // What comes from now on is live.
      try await publish("new", in: topics)
      try await waitUntil { reader.texts.last == "new" }
      reader.close()
    }
  }

  @Test func allStreamsOfOneFormShareTheBytes() async throws {
    try await withTopic { fixture, loops in
      let topics = fixture.service.topics
      var readers: [Reader] = []
      for number in 0..<20 { readers.append(try await open(topics, on: loops[number % 2])) }
      // Each has read to the end of the log before.
      try await waitUntil { topics.hub.count == 20 }
      for number in 0..<50 { try await publish("\(number)", in: topics) }
      try await waitUntil { readers.allSatisfy { $0.texts.count == 50 } }
      for reader in readers { #expect(reader.texts == (0..<50).map { "\($0)" }) }
    }
    let entry = TopicEntry(
      number: .zero, topic: name, id: "abcdefghijkl", event: .message, time: .now(),
      expires: .now(), sequence: "abcdefghijkl", text: "x")
    let streamed = StreamedTopicEntry(entry)
    #expect(streamed.bytes(in: 1) { _ in [1] } == [1])
    #expect(streamed.bytes(in: 1) { _ in [2] } == [1])
    #expect(streamed.bytes(in: 2) { _ in [2] } == [2])
  }

  @Test func aStreamThatIsNeverOpenedGivesItsPlaceBack() async throws {
    try await withTopic { fixture, _ in
      let topics = fixture.service.topics
      var start: TopicStreamStart? = try await topics.open(
        [name], since: .none, TopicFilter(), by: requester("anna"))
      #expect(start?.topics == [name] && topics.streamSlots.count == 1)
      start = nil
      #expect(topics.streamSlots.count == 0)
    }
  }
}
