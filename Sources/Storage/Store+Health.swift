internal import Synchronization
package import Platform

extension Store {
  /// Writes a row of the store's own, and waits until it is on the disk. After PostgreSQL had no room for something, it has to
  /// have some again, too.
  ///
  /// - Throws: ``StoreError`` that says why the store can't be written to.
  package nonisolated(nonsending) func writeProbe() async throws {
    try await write(isolation: .rowLocks) { transaction in
      try transaction.execute(
        """
        INSERT INTO store_probe (id, written_at) VALUES (1, ?)
        ON CONFLICT (id) DO UPDATE
        SET written_at = excluded.written_at, count = store_probe.count + 1
        """, Timestamp.now().seconds)
    }
    // PostgreSQL changes that row in its place, also on a disk that is full.
    let failures = statistics.groupsWithoutRoom
    guard failures > settledFailures.load(ordering: .relaxed) else { return }
    try await write(isolation: .rowLocks) { transaction in
      try transaction.execute(
        """
        CREATE TEMPORARY TABLE store_room ON COMMIT DROP AS
        SELECT repeat(md5(i::text), 32) FROM generate_series(1, 1024) i
        """)
    }
    settledFailures.store(failures, ordering: .relaxed)
  }

  /// Asks PostgreSQL for the time, by which all nodes go.
  ///
  /// - Returns: the time as of the end of the call, give or take half its duration.
  package nonisolated(nonsending) func time() async throws -> Timestamp {
    let clock = ContinuousClock()
    // Not at the call: the query may have waited for its turn.
    let (time, asked): (Int64, ContinuousClock.Instant) = try await read { snapshot in
      let asked = clock.now
      let time: Int64? = try snapshot.value(
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
      return (time ?? 0, asked)
    }
    return Timestamp(milliseconds: time) + (clock.now - asked) / 2
  }

  /// Returns the time that a file of SQLite's keeps, or nil if it keeps none.
  package nonisolated(nonsending) func keptTime() async throws -> Timestamp? {
    try await read { snapshot in
      try snapshot.one("SELECT time FROM store_clock") { Timestamp(milliseconds: try $0[0]) }
    }
  }

  /// Has a file of SQLite's keep a time.
  package nonisolated(nonsending) func keep(_ time: Timestamp) async throws {
    try await write { transaction in
      try transaction.execute(
        """
        INSERT INTO store_clock (id, time) VALUES (1, ?)
        ON CONFLICT (id) DO UPDATE SET time = excluded.time
        """, time.milliseconds)
    }
  }

  /// Checks every page, index and reference of a database that nobody needs to have open, and changes nothing. It blocks
  /// on the disk.
  ///
  /// - Parameters:
  ///   - path: the database's file.
  ///   - migrations: all migrations of all services in the program.
  /// - Returns: the number of migrations that are still to be applied.
  /// - Throws: ``StoreError``: `.corrupt` if the file is damaged or no database, `.incompatibleSchema` if it is of a
  ///   newer or another program.
  package static func check(_ path: String, migrations: [Migration]) throws -> Int {
    let connection = try SQLiteConnection(reading: path)
    try connection.checkIntegrity()
    if try connection.isEmpty { return migrations.count }
    return try SQLiteMigrator(connection, migrations).check()
  }
}
