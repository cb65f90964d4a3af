internal import Cryptography
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Cluster

/// Nodes on a PostgreSQL server of the tests' own.
@Suite(.withOtherPrograms, .ownThreads) struct PostgreSQLBusTests {
  /// A node that has joined the others.
  private struct Node {
    let id: NodeID
    let bus: PostgreSQLBus
    private let store: Store
    private let registry: NodeRegistry

    init(
      _ server: PostgreSQLServer, _ database: String, poll: Duration = .seconds(60)
    ) async throws {
      let address = try PostgreSQLAddress(server.url(of: database))
      id = .random()
      store = try await Store.open(.postgreSQL(address))
      registry = NodeRegistry(id, named: "test", version: "1", in: store)
      try await registry.sendHeartbeat()
      bus = try await PostgreSQLBus(
        address, seal: registry.seal { .now() }, poll: poll,
        log: Log(level: .error, descriptor: -1))
      // Until it is connected: then it says so.
      var events = bus.events(of: "test").makeAsyncIterator()
      _ = await events.next()
    }

    func close() async {
      await bus.close()
      await store.close()
    }
  }

  /// Waits until a bus is connected anew: then it says that something may be missed.
  private func connected(_ events: inout AsyncStream<BusEvent>.Iterator) async {
    // Notices of the time before may come first.
    while let event = await events.next(), event != .mayHaveMissed {}
  }

  private func notices(
    _ count: Int, _ events: inout AsyncStream<BusEvent>.Iterator
  ) async -> [NodeNotification] {
    var notices: [NodeNotification] = []
    while notices.count < count, let event = await events.next() {
      guard case .notifications(let more) = event else { continue }
      notices += more
    }
    return notices
  }

  @Test func othersHearInOrderWhatANodePublishes() async throws {
    let server = try PostgreSQLServer.shared.get()
    let database = try server.makeDatabase()
    defer { try? server.removeDatabase(database) }
    let (first, second) = (try await Node(server, database), try await Node(server, database))
    let third = try await Node(server, database)
    var heard = second.bus.events(of: "a").makeAsyncIterator()
    var own = first.bus.events(of: "a").makeAsyncIterator()
    let threads = 8
    let each = 500
    await withTaskGroup { group in
      for thread in 0..<threads {
        group.addTask {
          for number in 0..<each {
            first.bus.publish(
              [
                NodeNotification(NotificationTopic("b", [9])),
                NodeNotification(NotificationTopic("a", [UInt8(thread)]), [UInt8(number % 250)]),
              ],
              to: .nodes([second.id, first.id]))
          }
        }
      }
    }
    let notices = await notices(threads * each, &heard)
    for thread in 0..<threads {
      let numbers = notices.filter { $0.topic.key == [UInt8(thread)] }.map(\.content[0])
      #expect(numbers == (0..<each).map { UInt8($0 % 250) })
    }
    #expect(!notices.contains { $0.topic.service == "b" })
    // A node counts what it has told once the database has taken it, by when others may have heard it.
    try await waitUntil { first.bus.statistics.sent == 2 * threads * each }
    #expect(second.bus.statistics.received == 2 * threads * each)
    // Neither the node itself nor one that isn't named.
    #expect(first.bus.statistics.received == 0 && third.bus.statistics.received == 0)
    second.bus.publish([NodeNotification(NotificationTopic("a", [77]))])
    #expect(await self.notices(1, &own) == [NodeNotification(NotificationTopic("a", [77]))])
    try await waitUntil { third.bus.statistics.received == 1 }
    try await waitUntil { second.bus.statistics.sent == 2 }
    for node in [first, second, third] {
      #expect(node.bus.statistics.refused == 0)
      await node.close()
    }
    #expect(await own.next() == nil)
    first.bus.publish([NodeNotification(NotificationTopic("a"))])
    var late = first.bus.events(of: "a").makeAsyncIterator()
    #expect(await late.next() == nil)
  }

  @Test func nobodyButNodesIsBelieved() async throws {
    let server = try PostgreSQLServer.shared.get()
    let database = try server.makeDatabase()
    defer { try? server.removeDatabase(database) }
    let (first, second) = (try await Node(server, database), try await Node(server, database))
    try server.query("CREATE ROLE stranger LOGIN", in: database)
    #expect(throws: PostgreSQLServer.Failure.self) {
      try server.query("SELECT secret FROM store_identity", in: database, as: "stranger")
    }
    var events = second.bus.events(of: "a").makeAsyncIterator()
    // What a stranger may hear is worth nothing to it.
    let spy = try NotificationConnection(
      PostgreSQLAddress(server.url(of: database, user: "stranger")))
    try spy.listen(as: second.id)
    first.bus.publish(
      [NodeNotification(NotificationTopic("a", Array("anna".utf8)))], to: .nodes([second.id]))
    #expect(
      await events.next()
        == .notifications([NodeNotification(NotificationTopic("a", Array("anna".utf8)))]))
    let overheard = try spy.notifications(within: .seconds(10))
    #expect(overheard.count == 1 && !overheard[0].contains("YW5u"))
    let forged = ["", "nonsense", "\(first.id)\na AA== AQ=="] + overheard + overheard
    for text in forged { try spy.notify([(second.id, text)]) }
    try server.query(
      "SELECT pg_notify('awd_\(second.id)', repeat('x', 7900) || i) FROM generate_series(1, 20000) i",
      in: database, as: "stranger")
    try await waitUntil { second.bus.statistics.refused == forged.count + 20_000 }
    first.bus.publish([NodeNotification(NotificationTopic("a", [7]))], to: .nodes([second.id]))
    #expect(await events.next() == .notifications([NodeNotification(NotificationTopic("a", [7]))]))
    #expect(second.bus.statistics.received == 2)
    await first.close()
    await second.close()
  }

  @Test func aLostConnectionIsMadeAnewAndSaid() async throws {
    let server = try PostgreSQLServer()
    let database = try server.makeDatabase()
    let (first, second) = (try await Node(server, database), try await Node(server, database))
    var heard = second.bus.events(of: "a").makeAsyncIterator()
    first.bus.publish([NodeNotification(NotificationTopic("a", [1]))], to: .nodes([second.id]))
    #expect(await notices(1, &heard).count == 1)
    for round in 1...3 {
      // Under load: each node publishes all the time while its listener waits for the server, too.
      let load = Task {
        while !Task.isCancelled {
          for (from, to) in [(first, second), (second, first)] {
            from.bus.publish([NodeNotification(NotificationTopic("b"))], to: .nodes([to.id]))
          }
          try await Task.sleep(for: .milliseconds(1))
        }
      }
      if round == 1 {
        try server.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'awd'",
          in: database)
      } else {
        try server.stop(immediately: round == 2)
        try await Task.sleep(for: .milliseconds(500))
        try server.start()
      }
      try await waitUntil {
        second.bus.statistics.interruptions == round && first.bus.statistics.interruptions == round
      }
      await connected(&heard)
      load.cancel()
      _ = await load.result
      for (from, to) in [(first, second), (second, first)] {
        let before = to.bus.statistics.received
        try await waitUntil {
          from.bus.publish([NodeNotification(NotificationTopic("a", [3]))], to: .nodes([to.id]))
          return to.bus.statistics.received > before + 3
        }
      }
    }
    await first.close()
    await second.close()
  }

  @Test func withoutNoticesServicesAreToldToLook() async throws {
    let server = try PostgreSQLServer.shared.get()
    let database = try server.makeDatabase()
    defer { try? server.removeDatabase(database) }
    let node = try await Node(server, database, poll: .milliseconds(20))
    let buses: [any Bus] = [
      PollingBus(every: .milliseconds(20)), node.bus,
      // Nothing listens there.
      try PostgreSQLBus(
        PostgreSQLAddress("postgresql:///awd?host=/nowhere"),
        seal: NotificationSeal(of: .random(), box: SecretBox()) { .now() },
        poll: .milliseconds(20), log: Log(level: .error, descriptor: -1)),
    ]
    for bus in buses {
      var events = bus.events(of: "a").makeAsyncIterator()
      for _ in 0..<3 { #expect(await events.next() == .mayHaveMissed) }
      bus.publish([NodeNotification(NotificationTopic("a"))])
      await bus.close()
    }
    await node.close()
  }

  @Test func aServiceThatHearsTooLittleIsToldSo() async throws {
    let subscribers = Subscribers()
    let events = subscribers.events(of: "a")
    for number in 0..<2_000 {
      subscribers.publish([NodeNotification(NotificationTopic("a", [UInt8(number % 256)]))])
    }
    subscribers.close()
    var count = 0
    var last: BusEvent?
    for await event in events { (count, last) = (count + 1, event) }
    #expect(count == 1024)
    #expect(last == .mayHaveMissed)
  }
}
