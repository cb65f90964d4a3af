/// Where a store keeps its data.
public enum StoreLocation: Sendable, Hashable {
  /// The file at a path; the log and its index lie beside it.
  case file(String)
  /// Memory, for tests: gone when the store is closed. A reader and a commit exclude each other.
  case memory
}

/// Sizes and times of a store.
public struct StoreConfiguration: Sendable, Hashable {
  /// How many connections, and threads, read: one for each event loop is enough.
  public var readers: Int
  /// How many closures may wait, for the writer and for the readers each, before calls are refused.
  public var queueLimit: Int
  /// How many closures one transaction takes at most.
  public var groupLimit: Int
  /// How long a lock of another process on the database is waited for.
  public var busyTimeout: Duration
  /// After this long, a group commits what it has and leaves the rest to the next.
  var longestTransaction = Duration.milliseconds(50)

  /// Makes a configuration; numbers below 1 count as 1.
  public init(
    readers: Int = 2, queueLimit: Int = 16_384, groupLimit: Int = 256,
    busyTimeout: Duration = .seconds(2)
  ) {
    self.readers = max(1, readers)
    self.queueLimit = max(1, queueLimit)
    self.groupLimit = max(1, groupLimit)
    self.busyTimeout = busyTimeout
  }
}
