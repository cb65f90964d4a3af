internal import ApptimistProtocol
internal import TestSupport
internal import Testing

@testable import Apptimist

@Suite("Locks") struct LockTableTests {
  private let first = SessionID(number: 1)
  private let second = SessionID(number: 2)
  private let start = ContinuousClock.now

  private func file(_ name: String, of user: TestUser) throws -> FileAddress {
    FileAddress(directory: user.key, name: try #require(Filename(name)))
  }

  @Test func keepsOthersOutUntilTheLeaseEnds() throws {
    let file = try file("f", of: TestUser())
    var table = LockTable(lease: .seconds(30), limit: 2)
    let taken = table.lock(file, for: first, at: start)
    #expect(taken == .held(isNew: true))
    let other = table.lock(file, for: second, at: start + .seconds(29))
    #expect(other == .taken)
    let renewed = table.lock(file, for: first, at: start + .seconds(29))
    #expect(renewed == .held(isNew: false))
    #expect(!table.isFree(file, for: second, at: start + .seconds(58)))
    #expect(table.isFree(file, for: second, at: start + .seconds(59)))
    let later = table.lock(file, for: second, at: start + .seconds(59))
    #expect(later == .held(isNew: true))
    table.release(file, by: first)
    #expect(!table.isFree(file, for: first, at: start + .seconds(60)))
    table.release(file, by: second)
    #expect(table.isFree(file, for: first, at: start + .seconds(60)))
    #expect(table.count == 0)
  }

  @Test func countsOnlyLocksThatHold() throws {
    let user = TestUser()
    var table = LockTable(lease: .seconds(30), limit: 2)
    for name in ["a", "b"] {
      let outcome = table.lock(try file(name, of: user), for: first, at: start)
      #expect(outcome == .held(isNew: true))
    }
    let third = try file("c", of: user)
    let tooMany = table.lock(third, for: first, at: start + .seconds(1))
    #expect(tooMany == .tooMany)
    let others = table.lock(third, for: second, at: start + .seconds(1))
    #expect(others == .held(isNew: true))
    let fourth = table.lock(try file("d", of: user), for: first, at: start + .seconds(31))
    #expect(fourth == .held(isNew: true))
    #expect(table.count == 2)
  }

  @Test func forgetsSessionsAndDirectories() throws {
    let (here, there) = (TestUser(), TestUser())
    var table = LockTable(lease: .seconds(30), limit: 9)
    for user in [here, there] {
      for name in ["a", "b"] { _ = table.lock(try file(name, of: user), for: first, at: start) }
    }
    _ = table.lock(try file("c", of: here), for: second, at: start)
    table.removeDirectory(here.key)
    #expect(table.count == 2)
    table.releaseAll(of: first)
    #expect(table.count == 0)
  }
}
