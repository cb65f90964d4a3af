internal import Platform

/// PostgreSQL: threads that each run one job at a time on a connection of their own.
struct PostgreSQLEngine: Engine {
  let address: PostgreSQLAddress
  let migrations: [Migration]
  let configuration: StoreConfiguration

  func run(_ work: StoreWork, opened: () -> Void) throws {
    try prepareTables()
    let writers = WorkerPool(
      name: "awd-store", queue: work.writes, recorder: work.recorder, fence: work.fence,
      connect: connect
    ) { Transaction($0) }
    let readers = WorkerPool(
      name: "awd-reader", queue: work.reads, isReading: true, recorder: work.recorder,
      connect: connectReader
    ) { Snapshot($0) }
    let lanes = WorkerPool(
      name: "awd-lane", queue: work.batches, limit: configuration.groupLimit,
      recorder: work.recorder, fence: work.fence, connect: connectLane
    ) { Transaction($0) }
    let signers = WorkerPool(
      name: "awd-heartbeat", queue: work.heartbeats, recorder: work.recorder, connect: connect
    ) { Transaction($0) }
    // The first of each kind, so that there is one of each even where the server has no room for all.
    let writer = try writers.connect()
    let reader = try readers.connect()
    let lane = try lanes.connect()
    let signer = try signers.connect()
    var threads: [WorkerThread] = []
    defer {
      work.close()
      for thread in threads { thread.join() }
    }
    try writers.start(configuration.connections, with: writer, &threads)
    try readers.start(configuration.readers, with: reader, &threads)
    try lanes.start(configuration.lanes, with: lane, &threads)
    try signers.start(1, with: signer, &threads)
    opened()
    for thread in threads { thread.join() }
  }

  private func prepareTables() throws {
    let migrator = try PostgreSQLMigrator(
      PostgreSQLConnection(address, lockTimeout: configuration.busyTimeout), migrations)
    guard !configuration.makesTables else { return try migrator.migrate() }
    let pending = try migrator.check()
    guard try !migrator.isNew() else { throw StoreMissing() }
    guard pending == 0 else { throw StoreError.lacking(pending) }
  }

  /// Makes a connection that writes. It finds out first whether the server is another one than before. Its plans use indexes, as
  /// a write has few rows and the tables may have many, whatever the statistics say.
  private func connect() throws(StoreError) -> PostgreSQLConnection {
    let connection = try PostgreSQLConnection(address, lockTimeout: configuration.busyTimeout)
    try connection.keepHistory()
    try connection.run("SET enable_seqscan = off")
    return connection
  }

  /// Makes a connection for closures that read, with a transaction or without.
  private func connectReader() throws(StoreError) -> PostgreSQLConnection {
    let connection = try PostgreSQLConnection(address, lockTimeout: configuration.busyTimeout)
    try connection.run("SET default_transaction_read_only = on")
    return connection
  }

  /// Makes a connection for calls. Its plans are kept for a while, as planning a call by the lengths of its arrays would take
  /// longer than running it. A call has few rows, each of which is looked up by an index, however few rows a table has yet.
  private func connectLane() throws(StoreError) -> PostgreSQLConnection {
    let connection = try connect()
    try connection.run(
      """
      SET plan_cache_mode = force_generic_plan; SET enable_hashjoin = off;
      SET enable_mergejoin = off; SET enable_material = off
      """)
    try connection.run(
      "SET lock_timeout = \(PostgreSQLWorker<Transaction>.lockPatience.milliseconds)")
    return connection
  }
}
