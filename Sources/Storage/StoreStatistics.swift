/// What the store has done since it was opened.
public struct StoreStatistics: Sendable, Equatable {
  /// Write closures that wait for their group, at this moment.
  public internal(set) var queuedWrites = 0
  /// Read closures that wait for a connection, at this moment.
  public internal(set) var queuedReads = 0
  /// Transactions that were made durable, each with the closures of one group.
  public internal(set) var groupsCommitted = 0
  /// Transactions that failed as a whole.
  public internal(set) var groupsFailed = 0
  /// Write closures that were made durable.
  public internal(set) var writesCommitted = 0
  /// Write closures that failed, by themselves or with their group.
  public internal(set) var writesFailed = 0
  /// Write closures that were refused because the queue was full or the store closed.
  public internal(set) var writesRefused = 0
  /// Read closures that ran, whether they threw or not.
  public internal(set) var reads = 0
  /// Checkpoints of the write-ahead log that failed; they are tried again.
  public internal(set) var checkpointsFailed = 0
  /// The length of the write-ahead log after the last commit, in pages.
  public internal(set) var walPages = 0
  /// How many closures each committed group had.
  public internal(set) var groupSize = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256])
  /// How long each COMMIT took, in seconds: in the main the fsync.
  public internal(set) var commitSeconds = Histogram(
    bounds: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1])
}

/// Counts of values by size, as Prometheus wants them.
public struct Histogram: Sendable, Equatable {
  /// The highest value of each bucket but the last, ascending.
  public let bounds: [Double]
  /// How many values fell into each bucket, not cumulated; the last has no bound.
  public private(set) var counts: [Int]
  /// The sum of all values.
  public private(set) var sum = 0.0
  /// The highest value so far.
  public private(set) var highest = 0.0

  init(bounds: [Double]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  /// How many values there were.
  public var count: Int { counts.reduce(0, +) }

  mutating func record(_ value: Double) {
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
    sum += value
    highest = max(highest, value)
  }
}
