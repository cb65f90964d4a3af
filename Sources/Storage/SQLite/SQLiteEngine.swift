internal import Threading

/// SQLite: one connection that writes, on the engine's own thread, and several that read, each on a thread of its own.
struct SQLiteEngine: Engine {
  /// The file's path, or nil for memory.
  let path: String?
  let migrations: [Migration]
  let configuration: StoreConfiguration

  var keepsOrder: Bool { true }

  func run(_ work: StoreWork, opened: () -> Void) throws {
    let file = try path.map(DatabaseFile.at) ?? .memory()
    let connection = try SQLiteConnection(
      file, role: .writer, busyTimeout: configuration.busyTimeout)
    if file.size <= configuration.checkedSize { try connection.checkPages() }
    try SQLiteMigrator(connection, migrations).migrate()
    var readers: [WorkerThread] = []
    defer {
      work.reads.close()
      for reader in readers { reader.join() }
      // With no reader left this empties the log, unless another process reads. If it fails,
      // nothing is lost: the log is read at the next start.
      try? connection.checkpoint(truncating: true)
    }
    for _ in 0..<configuration.readers {
      let connection = try SQLiteConnection(
        file, role: .reader, busyTimeout: configuration.busyTimeout)
      readers.append(
        try .start("awd-reader") {
          SQLiteReader(connection: connection, recorder: work.recorder).run(work.reads)
        })
    }
    opened()
    var writer = SQLiteWriter(
      connection, queue: work.writes, configuration: configuration, recorder: work.recorder)
    writer.run()
  }
}
