package import Observability

/// The statistics of a store since it was opened.
package struct StoreStatistics: Sendable, Equatable {
  /// The number of write closures that wait for their group at this moment.
  package internal(set) var queuedWrites = 0
  /// The number of read closures that wait for a connection at this moment.
  package internal(set) var queuedReads = 0
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
