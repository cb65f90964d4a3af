#if NATS
  internal import Foundation
  internal import Observability
  internal import Storage
  internal import TestSupport
  internal import Testing

  @testable import Bus

  /// Nodes that tell each other by a real NATS server.
  @Suite(.ownThreads, .enabled(if: TestTools.program("nats-server") != nil, "needs nats-server"))
  struct NATSBusTests {
    private static func bus(_ port: UInt16, _ database: Int64 = 1) throws -> NATSBus {
      try NATSBus(
        "nats://127.0.0.1:1,nats://127.0.0.1:\(port)", database: database, node: .random(),
        poll: .seconds(60), log: Log(level: .error, descriptor: -1))
    }

    private func serve(_ port: UInt16) throws -> ChildProcess {
      let child = try ChildProcess(
        try #require(TestTools.program("nats-server")), ["-a", "127.0.0.1", "-p", "\(port)"],
        input: nil)
      try child.line(with: "Server is ready")
      return child
    }

    @Test func othersHearInOrderAndAcrossAnEnd() async throws {
      let reserved = try ReservedPort()
      let child = try serve(reserved.number)
      let (first, second) = (try Self.bus(reserved.number), try Self.bus(reserved.number))
      let stranger = try Self.bus(reserved.number, 2)
      var heard = second.events(of: "a").makeAsyncIterator()
      var own = first.events(of: "a").makeAsyncIterator()
      var foreign = stranger.events(of: "a").makeAsyncIterator()
      // Both have subscribed when the server has answered them.
      try await Task.sleep(for: .milliseconds(200))
      for number in 0..<1_000 {
        first.publish([
          Notice(Topic("b")), Notice(Topic("a", [UInt8(number % 256)]), [UInt8(number / 256)]),
        ])
      }
      var notices: [Notice] = []
      while notices.count < 1_000, let event = await heard.next() {
        guard case .notices(let more) = event else { continue }
        notices += more
      }
      let sent = (0..<1_000).map { number in
        Notice(Topic("a", [UInt8(number % 256)]), [UInt8(number / 256)])
      }
      #expect(notices == sent)
      #expect(first.statistics.heard == 0 && first.statistics.told == 2_000)

      _ = try child.terminate()
      let again = try serve(reserved.number)
      // Connected again, by both.
      while let event = await heard.next(), event != .mayHaveMissed {}
      while let event = await own.next(), event != .mayHaveMissed {}
      second.publish([Notice(Topic("a", [9]))])
      #expect(await own.next() == .notices([Notice(Topic("a", [9]))]))
      for bus in [first, second, stranger] { await bus.close() }
      while let event = await foreign.next() { #expect(event == .mayHaveMissed) }
      #expect(stranger.statistics.heard == 0)
      _ = try again.terminate()
    }

    @Test func aServerMayComeLater() async throws {
      let reserved = try ReservedPort()
      let bus = try Self.bus(reserved.number)
      var events = bus.events(of: "a").makeAsyncIterator()
      bus.publish([Notice(Topic("a"))])
      let child = try serve(reserved.number)
      #expect(await events.next() == .mayHaveMissed)
      await bus.close()
      _ = try child.terminate()
    }

    @Test func whatIsNoURLIsRefused() {
      #expect(throws: NATSBus.Failure.self) {
        try NATSBus(
          "nats://host:port:port", database: 1, node: .random(), poll: .seconds(1),
          log: Log(level: .error, descriptor: -1))
      }
    }
  }
#endif
