internal import Ethereum
internal import Formats
internal import Platform
internal import TestSupport
internal import Testing

/// Whose call to a chain comes when.
@Suite(.ownThreads) struct CallTurnsTests {
  private static func site(_ address: String) throws -> ClientSite {
    ClientNetwork(of: try #require(IPAddress(address))).siteKey
  }

  /// A call that has begun ends when it is told to.
  private final class Call: Sendable {
    let begun = Lock(false)
    let mayEnd = Lock(false)

    func run() async {
      begun.withLock { $0 = true }
      while !mayEnd.withLock({ $0 }) { await Task.yield() }
    }

    func waitUntilBegun() async { while !begun.withLock({ $0 }) { await Task.yield() } }
    func end() { mayEnd.withLock { $0 = true } }
  }

  /// The names of calls in the order in which they came.
  private final class Order: Sendable {
    private let list = Lock<[String]>([])

    var names: [String] { list.withLock { $0 } }
    func add(_ name: String) { list.withLock { $0.append(name) } }
  }

  @Test func aSiteHasItsShareAndNoMore() async throws {
    let turns = CallTurns(width: 2, widthOfSite: 1, queueLimit: 8)
    let slow = try Self.site("192.0.2.1")
    let neighbour = try Self.site("192.0.2.200")
    let other = try Self.site("198.51.100.1")
    #expect(slow == neighbour)
    let first = Call()
    let second = Call()
    let third = Call()
    async let one: Void? = turns.run(for: slow) { await first.run() }
    await first.waitUntilBegun()
    async let two: Void? = turns.run(for: neighbour) { await second.run() }
    async let three: Void? = turns.run(for: other) { await third.run() }
    await third.waitUntilBegun()
    #expect(!second.begun.withLock { $0 })
    third.end()
    #expect(await three != nil)
    #expect(!second.begun.withLock { $0 })
    first.end()
    await second.waitUntilBegun()
    second.end()
    #expect(await one != nil)
    #expect(await two != nil)
  }

  @Test func theSiteWithMostWaitingLosesItsLast() async throws {
    let turns = CallTurns(width: 1, widthOfSite: 1, queueLimit: 2)
    let many = try Self.site("192.0.2.1")
    let other = try Self.site("198.51.100.1")
    let first = Call()
    async let one: Void? = turns.run(for: many) { await first.run() }
    await first.waitUntilBegun()
    let order = Order()
    async let two: Void? = turns.run(for: many) { order.add("second") }
    while turns.waiting < 1 { await Task.yield() }
    async let three: Void? = turns.run(for: many) { order.add("third") }
    while turns.waiting < 2 { await Task.yield() }
    async let four: Void? = turns.run(for: other) { order.add("other") }
    #expect(await three == nil)
    first.end()
    #expect(await two != nil)
    #expect(await four != nil)
    #expect(await one != nil)
    #expect(order.names == ["second", "other"])
  }

  @Test func theWaitHasAnEnd() async throws {
    let turns = CallTurns(width: 1, widthOfSite: 1, queueLimit: 2)
    let first = Call()
    async let one: Void? = turns.run(for: nil) { await first.run() }
    await first.waitUntilBegun()
    let late: Void? = await turns.run(for: nil, until: .now + .milliseconds(20)) {}
    #expect(late == nil)
    first.end()
    #expect(await one != nil)
    #expect(await turns.run(for: nil) { 7 } == 7)
  }

  @Test func whatTakesTooLongIsCancelled() async {
    let outcome = await within(.milliseconds(20)) {
      do {
        try await Task.sleep(for: .seconds(60))
        return "slept"
      } catch { return "cancelled" }
    }
    #expect(outcome == "cancelled")
    #expect(await within(.seconds(60)) { 7 } == 7)
  }
}
