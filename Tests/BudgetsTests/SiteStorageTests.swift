import Budgets
import Platform
import TestSupport
import Testing

@Suite struct SiteStorageTests {
  /// The sums that a store would give.
  private final class Sums: Sendable {
    private let state = Lock((sums: [String: Int](), counts: 0))

    var counts: Int { state.withLock(\.counts) }

    func set(_ sums: [String: Int]) { state.withLock { $0.sums = sums } }

    func count() -> [String: Int] {
      state.withLock { state in
        state.counts += 1
        return state.sums
      }
    }
  }

  private let sums = Sums()

  private func storage(_ limit: Int) -> SiteStorage<String> {
    SiteStorage(limit: limit) { [sums] in sums.count() }
  }

  @Test func aSiteStoresUpToItsLimit() async throws {
    sums.set(["a": 60])
    let storage = storage(100)
    #expect(try await storage.mayStore(40, of: "a"))
    #expect(try await !storage.mayStore(1, of: "a"))
    #expect(try await storage.mayStore(100, of: "b"))
    #expect(!storage.hasRoom(for: 1, of: "b"))
    #expect(storage.hasRoom(for: 0, of: "b"))
    #expect(sums.counts == 1)
  }

  @Test func whatIsStoredCountsOnceHoweverOftenRoomWasChecked() async throws {
    let storage = storage(100)
    #expect(try await storage.mayStore(0, of: "a"))
    for _ in 0..<3 { #expect(storage.hasRoom(for: 60, of: "a")) }
    storage.record(60, of: "a")
    #expect(storage.hasRoom(for: 40, of: "a"))
    #expect(!storage.hasRoom(for: 41, of: "a"))
    // What is stored counts even beyond the limit.
    storage.record(.max, of: "a")
    #expect(!storage.hasRoom(for: 0, of: "a"))
  }

  @Test func whatWasDeletedIsFoundOutAtTheLimit() async throws {
    sums.set(["a": 100])
    let storage = storage(100)
    #expect(try await !storage.mayStore(1, of: "a"))
    sums.set(["a": 50])
    // Not at once: a site at its limit may not keep the store at work.
    #expect(try await !storage.mayStore(1, of: "a"))
    try await waitUntil { try await storage.mayStore(1, of: "a") }
    #expect(sums.counts == 2)
  }

  @Test func aLimitIsNotPassedByOverflow() async throws {
    let storage = storage(.max)
    #expect(try await storage.mayStore(.max, of: "a"))
    #expect(try await !storage.mayStore(1, of: "a"))
  }

  @Test func aStoreThatFailsIsAskedAgain() async throws {
    struct Failure: Error {}
    let isBroken = Lock(true)
    let storage = SiteStorage<String>(limit: 10) {
      if isBroken.withLock(\.self) { throw Failure() }
      return [:]
    }
    await #expect(throws: Failure.self) { try await storage.mayStore(1, of: "a") }
    isBroken.withLock { $0 = false }
    #expect(try await storage.mayStore(1, of: "a"))
  }
}
