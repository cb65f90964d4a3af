internal import Storage
internal import TestSupport

extension TemporaryFolder {
  var database: String { path + "/data/test.sqlite3" }

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
  private let gate = ThreadGate()

  func hold(_ store: Store) -> Task<Void, any Error> {
    Task { [gate] in
      try await store.write { _ in gate.pass() }
    }
  }

  func open() { gate.open() }

  /// Waits until so many closures wait behind the one that is held.
  func wait(for queued: Int, _ store: Store) async throws {
    try await waitUntil { store.statistics.queuedWrites >= queued }
  }

  func waitUntilHeld() async throws { try await gate.waitUntilReached() }
}
