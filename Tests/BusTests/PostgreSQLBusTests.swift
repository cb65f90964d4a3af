internal import Observability
internal import Storage
internal import TestSupport
internal import Testing
internal import Threading
internal import Time

@testable import Bus

/// Nodes on a PostgreSQL server of the tests' own.
@Suite(.withOtherPrograms, .ownThreads) struct PostgreSQLBusTests {
  private static func bus(
    _ server: PostgreSQLServer, _ database: String, poll: Duration = .seconds(60)
  ) throws -> PostgreSQLBus {
    try PostgreSQLBus(
      PostgreSQLAddress(server.url(of: database)), node: .random(), poll: poll,
      log: Log(level: .error, descriptor: -1))
  }

  /// Waits until a bus is connected: then it says so.
  private func connected(_ events: inout AsyncStream<BusEvent>.Iterator) async {
    let first = await events.next()
    #expect(first == .mayHaveMissed)
  }

  private func notices(
    _ count: Int, _ events: inout AsyncStream<BusEvent>.Iterator
  ) async -> [Notice] {
    var notices: [Notice] = []
    while notices.count < count, let event = await events.next() {
      guard case .notices(let more) = event else { continue }
      notices += more
    }
    return notices
  }

  @Test func othersHearInOrderWhatANodePublishes() async throws {
    let server = try PostgreSQLServer.shared.get()
    let database = try server.makeDatabase()
    defer { try? server.removeDatabase(database) }
    let (first, second) = (try Self.bus(server, database), try Self.bus(server, database))
    var heard = second.events(of: "a").makeAsyncIterator()
    var own = first.events(of: "a").makeAsyncIterator()
    await connected(&heard)
    await connected(&own)
    let threads = 8
    let each = 500
    await withTaskGroup { group in
      for thread in 0..<threads {
        group.addTask {
          for number in 0..<each {
            first.publish([
              Notice(Topic("b", [9])), Notice(Topic("a", [UInt8(thread)]), [UInt8(number % 250)]),
            ])
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
    #expect(first.statistics.told == 2 * threads * each)
    #expect(first.statistics.heard == 0)
    #expect(second.statistics.heard == 2 * threads * each)
    // The node doesn't hear itself: only what the other one tells.
    second.publish([Notice(Topic("a", [77]))])
    #expect(await self.notices(1, &own) == [Notice(Topic("a", [77]))])
    await first.close()
    await second.close()
    #expect(await own.next() == nil)
    first.publish([Notice(Topic("a"))])
    var late = first.events(of: "a").makeAsyncIterator()
    #expect(await late.next() == nil)
  }

  @Test func whatAnyoneElseTellsIsNoNotice() async throws {
    let server = try PostgreSQLServer.shared.get()
    let database = try server.makeDatabase()
    defer { try? server.removeDatabase(database) }
    let bus = try Self.bus(server, database)
    var events = bus.events(of: "a").makeAsyncIterator()
    await connected(&events)
    for text in ["", "nonsense", "1\na", "1\na AA AA"] {
      try server.query("NOTIFY awd, '\(text)'", in: database)
      #expect(await events.next() == .mayHaveMissed)
    }
    try server.query("SELECT pg_notify('awd', E'1\\na AA== AQ==')", in: database)
    #expect(await events.next() == .notices([Notice(Topic("a", [0]), [1])]))
    await bus.close()
  }

  @Test func aLostConnectionIsMadeAnewAndSaid() async throws {
    let server = try PostgreSQLServer()
    let database = try server.makeDatabase()
    let (first, second) = (try Self.bus(server, database), try Self.bus(server, database))
    var heard = second.events(of: "a").makeAsyncIterator()
    await connected(&heard)
    first.publish([Notice(Topic("a", [1]))])
    #expect(await notices(1, &heard).count == 1)
    try server.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'awd'",
      in: database)
    await connected(&heard)
    try server.stop(immediately: true)
    // Dropped: nobody is there to be told.
    for _ in 0..<10 { first.publish([Notice(Topic("a", [2]))]) }
    try server.start()
    await connected(&heard)
    var tries = 0
    repeat {
      tries += 1
      first.publish([Notice(Topic("a", [3]))])
      try await Task.sleep(for: .milliseconds(100))
    } while second.statistics.heard < 2 && tries < 100
    #expect(await notices(1, &heard).first?.topic.key == [3])
    #expect(second.statistics.interruptions == 2)
    #expect(first.statistics.dropped >= 1)
    await first.close()
    await second.close()
  }

  @Test func withoutNoticesServicesAreToldToLook() async throws {
    let server = try PostgreSQLServer.shared.get()
    let buses: [any Bus] = [
      PollingBus(every: .milliseconds(20)),
      try Self.bus(server, "postgres", poll: .milliseconds(20)),
      // Nothing listens there.
      try PostgreSQLBus(
        PostgreSQLAddress("postgresql:///awd?host=/nowhere"), node: .random(),
        poll: .milliseconds(20), log: Log(level: .error, descriptor: -1)),
    ]
    for bus in buses {
      var events = bus.events(of: "a").makeAsyncIterator()
      for _ in 0..<3 { #expect(await events.next() == .mayHaveMissed) }
      bus.publish([Notice(Topic("a"))])
      await bus.close()
    }
  }

  @Test func aServiceThatHearsTooLittleIsToldSo() async throws {
    let subscribers = Subscribers()
    let events = subscribers.events(of: "a")
    for number in 0..<2_000 { subscribers.tell([Notice(Topic("a", [UInt8(number % 256)]))]) }
    subscribers.close()
    var count = 0
    var last: BusEvent?
    for await event in events { (count, last) = (count + 1, event) }
    #expect(count == 1024)
    #expect(last == .mayHaveMissed)
  }
}
