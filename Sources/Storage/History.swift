internal import CSQLite
internal import Glibc

// A database that was restored, or a standby that has taken over, may lack what the former one had acknowledged, and so give
// numbers twice. This number tells its history from the former one's: it is random, and drawn anew when the mark beside it is
// another database's.

extension Queryable where Self: ~Copyable {
  /// The number of the database's history. Positions of one history are given once.
  package borrowing func history() throws -> Int64 {
    try one("SELECT history FROM store_history") { try $0[0] } ?? 0
  }
}

extension SQLiteConnection {
  /// Draws a new number if the file is another one than when the database was opened last: a copy has another number or time
  /// of birth in its file system.
  func keepHistory(of file: DatabaseFile) throws(StoreError) {
    try run(
      """
      CREATE TABLE IF NOT EXISTS store_history (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        history INTEGER NOT NULL,
        mark TEXT NOT NULL
      ) STRICT
      """)
    try execute(
      """
      INSERT INTO store_history VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE
      SET history = excluded.history, mark = excluded.mark WHERE mark <> excluded.mark
      """, Int64.random(in: 1 ... .max), file.mark)
  }
}

extension DatabaseFile {
  /// The identity of the file in its file system: its inode, which another file may get later, and its time of birth.
  fileprivate var mark: String {
    var status = stat()
    guard !isInMemory, unsafe stat(name, &status) == 0 else { return "" }
    return "\(status.st_ino) \(unsafe csqlite_birth(name))"
  }
}

extension PostgreSQLConnection {
  /// Draws a new number if the database is another one, or its server has become another's successor since.
  func keepHistory() throws(StoreError) {
    try execute(
      """
      INSERT INTO store_history
      SELECT 1, ?, concat_ws(' ', d.oid, (SELECT system_identifier FROM pg_control_system()),
        substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))
      FROM pg_database d WHERE datname = current_database()
      ON CONFLICT (id) DO UPDATE SET history = excluded.history, mark = excluded.mark
      WHERE store_history.mark <> excluded.mark
      """, Int64.random(in: 1 ... .max))
  }
}
