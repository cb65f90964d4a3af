internal import Foundation
internal import Storage

/// A folder that is removed with its contents after the test.
final class TemporaryFolder: Sendable {
  let path = FileManager.default.temporaryDirectory
    .appendingPathComponent("awd-storage-\(UUID().uuidString)").path

  var database: String { path + "/data/test.sqlite3" }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func open(
    _ migrations: [Migration] = notes, _ configuration: StoreConfiguration = StoreConfiguration()
  ) async throws -> Store {
    try await Store.open(.file(database), migrations: migrations, configuration: configuration)
  }
}

let notes = [
  Migration(
    owner: "notes", number: 1,
    sql: """
      CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
      CREATE TABLE tags (
        note INTEGER NOT NULL REFERENCES notes DEFERRABLE INITIALLY DEFERRED,
        tag TEXT CHECK (length(tag) > 0)
      ) STRICT;
      """)
]

func add(_ text: String, _ transaction: borrowing Transaction) throws {
  try transaction.execute("INSERT INTO notes (text) VALUES (?)", text)
}

func count(_ queryable: borrowing some Queryable & ~Copyable) throws -> Int {
  try queryable.one("SELECT count(*) FROM notes") { try $0[0] } ?? -1
}

/// Holds the writer until it is opened, so that closures that are queued meanwhile form one group.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  private let entered = DispatchSemaphore(value: 0)

  func hold(_ store: Store) -> Task<Void, any Error> {
    Task { [semaphore, entered] in
      try await store.write { _ in
        entered.signal()
        semaphore.wait()
      }
    }
  }

  func open() { semaphore.signal() }

  /// Waits until the writer is held and this many closures wait behind it.
  func wait(for queued: Int, _ store: Store) async throws {
    while store.statistics.queuedWrites < queued { try await Task.sleep(for: .milliseconds(1)) }
  }

  func waitUntilHeld() async {
    while entered.wait(timeout: .now()) == .timedOut {
      try? await Task.sleep(for: .milliseconds(1))
    }
  }
}
