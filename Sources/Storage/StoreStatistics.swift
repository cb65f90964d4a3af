package import Observability
package import Platform

internal import Synchronization

/// The statistics of a store since it was opened.
package struct StoreStatistics: Sendable, Equatable {
  /// The number of write closures that wait for their group at this moment.
  package internal(set) var queuedWrites = 0
  /// The number of read closures that wait for a connection at this moment.
  package internal(set) var queuedReads = 0
  /// The time for which write closures have waited and none was taken.
  package internal(set) var writesWaiting = Duration.zero
  /// The time for which read closures have waited and none was taken.
  package internal(set) var readsWaiting = Duration.zero
  /// The number of committed transactions, each with the closures of one group.
  package internal(set) var groupsCommitted = 0
  /// The number of transactions that failed as a whole.
  package internal(set) var groupsFailed = 0
  /// The number of committed write closures.
  package internal(set) var writesCommitted = 0
  /// The number of write closures that failed, by themselves or with their group.
  package internal(set) var writesFailed = 0
  /// The number of write closures that were refused because the queue was full or the store closed.
  package internal(set) var writesRefused = 0
  /// The number of read closures that ran, successful or not.
  package internal(set) var reads = 0
  /// The number of times that a closure ran again: on SQLite as another of its transaction failed, on PostgreSQL as others
  /// had changed what it had read, or the connection was lost.
  package internal(set) var retries = 0
  /// The number of transactions of PostgreSQL's that failed as its disk was full.
  package internal(set) var groupsWithoutRoom = 0
  /// The number of failed checkpoints of the write-ahead log. They are tried again.
  package internal(set) var checkpointsFailed = 0
  /// The length of the write-ahead log after the last commit, in pages.
  package internal(set) var walPages = 0
  /// The numbers of closures in each committed group.
  package internal(set) var groupSize = Distribution(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256])
  /// The durations of COMMIT in seconds, which are mostly the fsync's.
  package internal(set) var commitSeconds = Distribution(
    bounds: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1])
  /// The durations of transactions in seconds, from BEGIN to the end of COMMIT: others wait as long.
  package internal(set) var transactionSeconds = Distribution(
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5])
  /// The duration of the longest transaction so far, in seconds.
  package internal(set) var longestTransactionSeconds = 0.0

  /// Counts a transaction, its writes, and the time that its commit took, if it was committed.
  mutating func count(committed: Int, failed: Int, in transaction: Duration, commit: Duration?) {
    writesCommitted += committed
    writesFailed += failed
    let seconds = transaction / .seconds(1)
    transactionSeconds.record(seconds)
    longestTransactionSeconds = max(longestTransactionSeconds, seconds)
    guard let commit else { return }
    groupsCommitted += 1
    groupSize.record(Double(committed))
    commitSeconds.record(commit / .seconds(1))
  }
}

/// The statistics that the store and its threads share.
///
/// One lock instead of single atomics, so that a copy is consistent. The writer takes it once for each group.
final class StatisticsRecorder: Sendable {
  private let state = Lock(StoreStatistics())

  var statistics: StoreStatistics { state.withLock { $0 } }

  func record(_ change: (inout StoreStatistics) -> Void) { state.withLock { change(&$0) } }
}

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
    guard failures > recoveredFailures.load(ordering: .relaxed) else { return }
    try await write(isolation: .rowLocks) { transaction in
      try transaction.execute(
        """
        CREATE TEMPORARY TABLE store_room ON COMMIT DROP AS
        SELECT repeat(md5(i::text), 32) FROM generate_series(1, 1024) i
        """)
    }
    recoveredFailures.store(failures, ordering: .relaxed)
  }

  /// Asks PostgreSQL for the time, by which all nodes go.
  ///
  /// - Returns: the time as of the end of the call, give or take half its duration.
  package nonisolated(nonsending) func time() async throws -> Timestamp {
    let clock = ContinuousClock()
    // Not at the call: the query may have waited for its turn.
    let (time, start): (Int64, ContinuousClock.Instant) = try await read { snapshot in
      let start = clock.now
      let time: Int64? = try snapshot.value(
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
      return (time ?? 0, start)
    }
    return Timestamp(milliseconds: time) + (clock.now - start) / 2
  }

  /// Returns the time that a file of SQLite's keeps, or nil if it keeps none.
  package nonisolated(nonsending) func keptTime() async throws -> Timestamp? {
    try await read { snapshot in
      try snapshot.one("SELECT time FROM store_clock") { Timestamp(milliseconds: try $0[0]) }
    }
  }

  /// Records a time in a file of SQLite's.
  package nonisolated(nonsending) func record(_ time: Timestamp) async throws {
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
  /// - Returns: the number of migrations that are still to be applied.
  /// - Throws: ``StoreError``: `.corrupt` if the file is damaged or no database, `.incompatibleSchema` if it is of a
  ///   newer or another program.
  package static func check(_ path: String, migrations: [Migration]) throws -> Int {
    try DatabaseFile.existing(path).requireContent()
    let connection = try SQLiteConnection(reading: path)
    try connection.checkIntegrity()
    try connection.requireStore(path)
    return try SQLiteMigrator(connection, migrations).check()
  }
}
