internal import CSQLite
internal import Glibc
internal import Platform
internal import Synchronization

/// One SQLite connection with its prepared statements, without a mutex of SQLite's.
///
/// It is unchecked for the reason of its base class.
@safe final class SQLiteConnection: DatabaseConnection, @unchecked Sendable {
  /// The purpose of a connection.
  enum Role {
    case writer, reader
    /// Writes a file that is not in use and has no write-ahead log.
    case copier
  }

  /// Switches SQLite's memory statistics off, before the first connection. They cost a lock of the whole process for each
  /// allocation.
  private static let countsNoMemory = csqlite_count_no_memory() == SQLITE_OK

  private let database: OpaquePointer
  private let observer: Observer

  /// The state of SQLite's callbacks. It is apart from `SQLiteConnection`, so that they can have its address while the
  /// connection is still being made.
  private final class Observer {
    var allowsTransactionControl = true
    var walPages = 0
  }

  /// Opens an existing file.
  init(_ file: DatabaseFile, role: Role, busyTimeout: Duration) throws(StoreError) {
    _ = Self.countsNoMemory
    var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    flags |= file.isInMemory ? SQLITE_OPEN_URI | SQLITE_OPEN_CREATE : 0
    flags |= role == .reader && !file.isInMemory ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
    var handle: OpaquePointer?
    let result = unsafe sqlite3_open_v2(file.name, &handle, flags, nil)
    guard result == SQLITE_OK, let handle = unsafe handle else {
      unsafe sqlite3_close_v2(handle)
      throw StoreError(resultCode: result)
    }
    unsafe database = handle
    observer = Observer()
    super.init()
    unsafe sqlite3_busy_timeout(database, Int32(clamping: busyTimeout.milliseconds))
    unsafe csqlite_defensive(database)
    // No statement can reach another file.
    unsafe sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0)
    observe()
    try configure(role, file, busyTimeout)
    observer.allowsTransactionControl = false
  }

  /// Opens a database that is there, to read it.
  convenience init(reading path: String, busyTimeout: Duration = .seconds(10)) throws(StoreError) {
    try self.init(.existing(path), role: .reader, busyTimeout: busyTimeout)
  }

  deinit {
    forgetStatements()
    unsafe sqlite3_close_v2(database)
  }

  override var changes: Int { Int(unsafe sqlite3_changes64(database)) }

  /// The number of rows that the connection's statements have changed so far, also by triggers and foreign keys.
  var allChanges: Int { Int(unsafe sqlite3_total_changes64(database)) }

  override func requireTransaction() throws(StoreError) {
    guard isInTransaction else {
      throw StoreError(.ioError, "SQLite has rolled back the transaction")
    }
  }

  override func prepare(_ sql: StaticString) throws(StoreError) -> DatabaseStatement {
    try unsafe SQLiteStatement("\(sql)", on: database, from: sql)
  }

  private func observe() {
    let context = unsafe Unmanaged.passUnretained(observer).toOpaque()
    // Only the store begins and ends transactions: a COMMIT in a closure would acknowledge other
    // closures' rows. Asked when a statement is prepared, not when it runs.
    unsafe sqlite3_set_authorizer(
      database,
      { context, action, _, _, _, _ in
        guard action == SQLITE_TRANSACTION || action == SQLITE_SAVEPOINT,
          let context = unsafe context
        else { return SQLITE_OK }
        let observer = unsafe Unmanaged<Observer>.fromOpaque(context).takeUnretainedValue()
        return observer.allowsTransactionControl ? SQLITE_OK : SQLITE_DENY
      }, context)
    // The hook replaces the automatic checkpoint: see `SQLiteWriter.checkpointIfDue`.
    unsafe sqlite3_wal_hook(
      database,
      { context, _, _, pages in
        if let context = unsafe context {
          unsafe Unmanaged<Observer>.fromOpaque(context).takeUnretainedValue().walPages = Int(pages)
        }
        return SQLITE_OK
      }, context)
  }

  private func configure(
    _ role: Role, _ file: DatabaseFile, _ busyTimeout: Duration
  ) throws(StoreError) {
    // Readers find the file in this mode already, and a file in memory has no log.
    if role == .writer && !file.isInMemory { try logAhead(waitingFor: busyTimeout) }
    // Every COMMIT is on the disk before it returns.
    try run("PRAGMA synchronous = FULL")
    try run("PRAGMA foreign_keys = ON")
    try run("PRAGMA trusted_schema = OFF")
    try run("PRAGMA cell_size_check = ON")
    // A damaged or truncated file is an error, not a SIGBUS.
    try run("PRAGMA mmap_size = 0")
    // 16 MiB. The writer reads nearly all pages that it changes from here.
    try run("PRAGMA cache_size = -16384")
    // Users' data stays out of /tmp.
    try run("PRAGMA temp_store = MEMORY")
    if role == .reader { try run("PRAGMA query_only = ON") }
  }

  /// Switches the file to write-ahead logging.
  ///
  /// If several programs do so at once, SQLite refuses all but one of them without waiting, as they could wait for each
  /// other for ever.
  private func logAhead(waitingFor limit: Duration) throws(StoreError) {
    let deadline = ContinuousClock.now + limit
    while true {
      do throws(StoreError) {
        guard try text("PRAGMA journal_mode = WAL") == "wal" else {
          throw StoreError(.ioError, "the file system does not allow write-ahead logging")
        }
        return
      } catch {
        guard error.code == .busy, ContinuousClock.now < deadline else { throw error }
        usleep(1000)
      }
    }
  }
}

// MARK: - Scripts

extension SQLiteConnection {
  /// Runs a script of any number of statements, without values or rows.
  func run(_ script: String) throws(StoreError) {
    let result = unsafe sqlite3_exec(database, script, nil, nil, nil)
    guard result == SQLITE_OK else {
      throw unsafe StoreError(
        resultCode: result, message: String(cString: sqlite3_errmsg(database)))
    }
  }

  /// Prepares a statement that is made of names of the schema.
  func prepare(text sql: String) throws(StoreError) -> SQLiteStatement {
    try unsafe SQLiteStatement(sql, on: database)
  }

  private func text(_ sql: String) throws(StoreError) -> String? {
    let statement = try prepare(text: sql)
    guard try statement.step() else { return nil }
    return statement.column(0).flatMap(String.init(databaseValue:))
  }
}

// MARK: - Transactions

extension SQLiteConnection {
  /// True if a transaction is open. SQLite ends one by itself after some failures.
  var isInTransaction: Bool { unsafe sqlite3_get_autocommit(database) == 0 }

  /// True if a deferred foreign key is violated at this moment, which would make COMMIT fail.
  var hasBrokenForeignKeys: Bool {
    var current: Int32 = 0
    var highest: Int32 = 0
    unsafe sqlite3_db_status(database, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
    return current != 0
  }

  /// Runs one of the store's own BEGIN, SAVEPOINT, COMMIT and the like.
  func control(_ sql: StaticString) throws(StoreError) {
    observer.allowsTransactionControl = true
    defer { observer.allowsTransactionControl = false }
    try execute(sql)
  }

  /// Ends the open transaction, if there is one, without its changes.
  func rollBack() {
    guard isInTransaction else { return }
    // If this fails, the next BEGIN does too, and says why.
    try? control("ROLLBACK")
  }
}

// MARK: - Write-ahead log

extension SQLiteConnection {
  /// The length of the write-ahead log after the last commit, in pages.
  var walPages: Int { observer.walPages }

  /// Copies the write-ahead log into the database: as far as readers allow, or all of it, which empties the log.
  func checkpoint(truncating: Bool = false) throws(StoreError) {
    let mode = truncating ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
    let result = unsafe sqlite3_wal_checkpoint_v2(database, nil, mode, nil, nil)
    guard result == SQLITE_OK else { throw StoreError(resultCode: result) }
  }
}

// MARK: - Copies

extension SQLiteConnection {
  /// Makes this connection's database the same as another's, which others may change meanwhile.
  func copyAll(
    from source: SQLiteConnection, reporting report: Backup.Progress
  ) throws {
    // An open transaction keeps to one state, so that no change of others starts the copy anew.
    try source.control("BEGIN")
    defer { source.rollBack() }
    _ = try source.text("SELECT max(name) FROM sqlite_schema")
    guard let backup = unsafe sqlite3_backup_init(database, "main", source.database, "main") else {
      throw unsafe StoreError(resultCode: sqlite3_extended_errcode(database))
    }
    defer { unsafe sqlite3_backup_finish(backup) }
    var result = SQLITE_OK
    while result == SQLITE_OK {
      result = unsafe sqlite3_backup_step(backup, 256)
      let total = Int(unsafe sqlite3_backup_pagecount(backup))
      try report(total - Int(unsafe sqlite3_backup_remaining(backup)), total)
    }
    guard result == SQLITE_DONE else { throw StoreError(resultCode: result) }
  }

  /// Refuses a database that is no store's.
  ///
  /// - Throws: `.corrupt` if there is no table, `.incompatibleSchema` if those of a store are missing.
  func requireStore(_ path: String) throws {
    guard try !hasTable("store_migrations") else { return }
    guard let other = try text("SELECT name FROM sqlite_schema LIMIT 1") else {
      throw StoreError.cutOff(path)
    }
    throw StoreError.incompatibleSchema(
      "\(path) belongs to another program: it has the table \(other), but none of a store's")
  }

  /// Returns whether there is a table with a name.
  func hasTable(_ name: String) throws -> Bool {
    try exists("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", name)
  }

  /// Checks every page, but not whether the indexes have the rows' values. It takes a second for each GiB or so.
  ///
  /// - Throws: `.corrupt` if anything is damaged.
  func checkPages() throws { try check("PRAGMA quick_check(1)") }

  /// Checks every page and index, and every reference between rows.
  ///
  /// - Throws: `.corrupt` if anything is damaged.
  func checkIntegrity() throws {
    try check("PRAGMA integrity_check(1)")
    try forEach("PRAGMA foreign_key_check") { row in
      let table: String = try row[0]
      throw StoreError(.corrupt, "rows of \(table) refer to missing rows")
    }
  }

  private func check(_ pragma: StaticString) throws {
    guard let finding: String = try value(pragma), finding != "ok" else { return }
    throw StoreError(.corrupt, "the database is damaged: \(finding)")
  }
}

extension SQLiteConnection {
  /// Runs the jobs that read until the queue is closed and empty. Each closure sees one state of the database.
  func runReads(_ work: StoreWork) {
    while let job = work.reads.next(atMost: 1).first {
      do throws(StoreError) {
        rollBack()
        try control("BEGIN")
        job.run(in: Snapshot(self))
      } catch { job.fail(error) }
      // A reader has nothing to commit, and so nothing that could fail.
      rollBack()
      work.recorder.record { $0.reads += 1 }
      job.finish()
    }
  }
}
