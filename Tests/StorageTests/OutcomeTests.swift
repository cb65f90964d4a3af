internal import Foundation
internal import TestSupport
internal import Testing
internal import Platform

@testable import Storage

/// The outcomes that are reported to caches of the database.
@Suite(.ownThreads) struct OutcomeTests {
  private struct Refusal: Error {}

  /// The events, in order.
  private final class Events: Sendable {
    private let events = Lock<[String]>([])

    func add(_ event: String) { events.withLock { $0.append(event) } }

    var all: [String] { events.withLock(\.self) }
  }

  /// A way in which a closure ends.
  private enum End {
    case well
    case throwing
    /// Throws before it has changed anything.
    case refusing
    case breakingForeignKeys
    /// Ends the whole transaction, as a full disk may.
    case rollingBack
  }

  private let folder = TemporaryFolder()
  private let events = Events()
  /// The events of a group that is undone as its second closure fails, which then all run again.
  private let undone = ["0", "1", "0 false", "1 false"]

  /// Writes in one group, and returns the events: each closure's number when it runs, and its outcome when that is
  /// reported.
  private func write(_ ends: [End], to store: Store) async throws -> [String] {
    let gate = Gate()
    let held = gate.hold(store)
    try await gate.waitUntilHeld()
    var tasks: [Task<Bool, Never>] = []
    for (number, end) in ends.enumerated() {
      tasks.append(
        Task { [events] in
          do {
            try await store.write(outcome: { events.add("\(number) \($0)") }) { transaction in
              events.add("\(number)")
              if end == .refusing { throw Refusal() }
              try add("\(number)", transaction)
              switch end {
              case .well, .refusing: break
              case .throwing: throw Refusal()
              case .breakingForeignKeys:
                try transaction.execute("INSERT INTO tags VALUES (99, 'refers to nothing')")
              case .rollingBack:
                try transaction.execute(
                  "INSERT OR ROLLBACK INTO notes (text) VALUES (?)", "\(number)")
              }
            }
            return true
          } catch {
            return false
          }
        })
      try await gate.wait(for: tasks.count, store)
    }
    gate.open()
    try await held.value
    for (number, task) in tasks.enumerated() {
      // The waiting task gets the same outcome, later.
      let isWritten = await task.value
      #expect(events.all.contains("\(number) \(isWritten)"))
    }
    return events.all
  }

  private func patient() async throws -> Store {
    var configuration = StoreConfiguration()
    configuration.longestTransaction = .seconds(60)
    return try await folder.open(notes, configuration)
  }

  @Test func successIsToldOfAllAfterTheCommit() async throws {
    let store = try await patient()
    #expect(
      try await write([.well, .well, .well], to: store)
        == ["0", "1", "2", "0 true", "1 true", "2 true"])
    await store.close()
  }

  @Test(arguments: [false, true])
  func failureAfterAChangeIsToldBeforeAnotherRuns(_ isOfForeignKeys: Bool) async throws {
    let store = try await patient()
    let end = isOfForeignKeys ? End.breakingForeignKeys : .throwing
    #expect(
      try await write([.well, end, .well], to: store)
        == undone + ["0", "1", "1 false", "2", "0 true", "2 true"])
    #expect(store.statistics.retries == 2)
    #expect(
      try await store.read { try $0.all("SELECT text FROM notes") { try $0[0] } } == ["0", "2"])
    await store.close()
  }

  @Test func failureBeforeAChangeUndoesNothing() async throws {
    let store = try await patient()
    #expect(
      try await write([.well, .refusing, .well], to: store)
        == ["0", "1", "1 false", "2", "0 true", "2 true"])
    #expect(store.statistics.retries == 0)
    await store.close()
  }

  @Test func aFailureAloneIsNotTriedAgain() async throws {
    let store = try await patient()
    #expect(try await write([.throwing], to: store) == ["0", "0 false"])
    #expect(store.statistics.retries == 0)
    #expect(try await store.read { try count($0) } == 0)
    await store.close()
  }

  @Test func failureOfAllIsToldBeforeAnotherRuns() async throws {
    let store = try await patient()
    #expect(
      try await write([.well, .throwing, .rollingBack, .well], to: store)
        == undone + ["0", "1", "1 false", "2", "2 false", "0 false", "3", "3 true"])
    #expect(try await store.read { try $0.all("SELECT text FROM notes") { try $0[0] } } == ["3"])
    await store.close()
  }

  @Test func aCommitThatFailsIsAFailureOfAll() async throws {
    let store = try await patient()
    let log = try OpenLog(of: folder.database)
    log.refuseWrites(true)
    #expect(
      try await write([.well, .throwing, .well], to: store)
        == undone + ["0", "1", "1 false", "2", "0 false", "2 false"])
    log.refuseWrites(false)
    #expect(try await store.read { try count($0) } == 0)
    try await store.write { try add("healed", $0) }
    #expect(try await store.read { try count($0) } == 1)
    await store.close()
  }

  @Test func whatNeverRanHasNoOutcome() async throws {
    let store = try await folder.open()
    await store.close()
    await #expect(throws: StoreError(.closed, "")) {
      try await store.write(outcome: { [events] in events.add("\($0)") }) { try add("a", $0) }
    }
    #expect(events.all == [])
  }
}

/// The write-ahead log that the writer has open.
private final class OpenLog {
  private struct NotFound: Error {}

  private let path: String
  private let descriptor: Int32
  private let original: Int32

  /// Finds the descriptor, before a reader has one too.
  init(of database: String) throws {
    path = try #require(realpath(database + "-wal", nil).map { String(cString: $0) })
    let found = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").first {
      [path] in
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
    }
    descriptor = try #require(found.flatMap(Int32.init))
    original = dup(descriptor)
  }

  deinit { close(original) }

  /// Makes each write fail as on a broken disk. Reads still work.
  func refuseWrites(_ isRefusing: Bool) {
    let readOnly = open(path, O_RDONLY)
    dup2(isRefusing ? readOnly : original, descriptor)
    close(readOnly)
  }
}
