internal import Platform

/// SQLite: one connection that writes, on the engine's own thread, one that copies what was written from the log into the
/// database, and several that read, each on a thread of its own.
struct SQLiteEngine: Engine {
  /// The file's path, or nil for memory.
  let path: String?
  let migrations: [Migration]
  let configuration: StoreConfiguration

  func run(_ work: StoreWork, opened: () -> Void) throws {
    let file = try path.map(DatabaseFile.at) ?? .memory()
    let connection = try SQLiteConnection(
      file, role: .writer, busyTimeout: configuration.busyTimeout)
    if file.size <= configuration.checkedSize { try connection.checkPages() }
    try SQLiteMigrator(connection, migrations).migrate()
    try connection.keepHistory(of: file)
    let checkpointer = Checkpointer()
    var others: [WorkerThread] = []
    defer {
      work.reads.close()
      checkpointer.close()
      for thread in others { thread.join() }
      // With no reader left this empties the log, unless another process reads. If it fails,
      // nothing is lost: the log is read at the next start.
      try? connection.checkpoint(truncating: true)
    }
    let copying = try SQLiteConnection(file, role: .writer, busyTimeout: configuration.busyTimeout)
    others.append(
      try .start("awd-checkpoint") { checkpointer.run(copying, recorder: work.recorder) })
    for _ in 0..<configuration.readers {
      let connection = try SQLiteConnection(
        file, role: .reader, busyTimeout: configuration.busyTimeout)
      others.append(try .start("awd-reader") { connection.runReads(work) })
    }
    opened()
    var writer = SQLiteWriter(
      connection: connection, work: work, checkpointer: checkpointer,
      longestTransaction: configuration.longestTransaction,
      target: GroupTarget(limit: configuration.groupLimit, processors: Processors.count))
    writer.run()
  }
}
