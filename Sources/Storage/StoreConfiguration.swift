/// The place of a store's data.
package enum StoreLocation: Sendable, Hashable {
  /// The file at a path. The log and its index lie beside it.
  case file(String)
  /// Memory, for tests. It is gone when the store is closed. A reader and a commit exclude each other.
  case memory
  /// A database of PostgreSQL's, which other processes may use at the same time.
  case postgreSQL(PostgreSQLAddress)

  /// How the names of the files end that SQLite may make beside a database: its logs and their index.
  private static let suffixes = ["-journal", "-wal", "-shm"]

  /// Returns every file that SQLite may make for a database, the database itself first.
  package static func files(of database: String) -> [String] {
    [database] + suffixes.map { database + $0 }
  }

  /// Returns the name of the database that SQLite may have made a file for, which is the file itself unless it lies beside one.
  package static func database(of file: String) -> String {
    guard let suffix = suffixes.first(where: file.hasSuffix) else { return file }
    return String(file.dropLast(suffix.count))
  }
}

/// Sizes and times of a store.
package struct StoreConfiguration: Sendable, Hashable {
  /// The number of connections that read, each on a thread of its own. One for each event loop is enough.
  package var readers: Int
  /// The number of connections to PostgreSQL that write, each on a thread of its own. SQLite has one.
  package var connections: Int
  /// The number of connections to PostgreSQL for operations that many ask for alike, each on a thread of its own.
  package var lanes: Int
  /// The number of closures that may wait before calls are refused, for the writer and for the readers each.
  package var queueLimit: Int
  /// The largest number of closures in one transaction of SQLite's, and of operations in one call of PostgreSQL's.
  package var groupLimit: Int
  /// The time to wait for another process's lock on the database or a row of it.
  package var busyTimeout: Duration
  /// Whether a PostgreSQL database gets the tables that it lacks. Otherwise one that lacks any is refused.
  package var makesTables: Bool
  /// The time after which a group is committed and leaves further closures to the next.
  var longestTransaction = Duration.milliseconds(50)
  /// The size in bytes of the largest file whose pages are checked when it is opened. To read a larger one would make a
  /// start slow.
  var checkedSize = 64 << 20

  package init(
    readers: Int = 2, connections: Int = 8, lanes: Int = 2, queueLimit: Int = 16_384,
    groupLimit: Int = 256,
    busyTimeout: Duration = .seconds(2), makesTables: Bool = true
  ) {
    self.readers = max(1, readers)
    self.connections = max(1, connections)
    self.lanes = max(1, lanes)
    self.queueLimit = max(1, queueLimit)
    self.groupLimit = max(1, groupLimit)
    self.busyTimeout = busyTimeout
    self.makesTables = makesTables
  }
}
