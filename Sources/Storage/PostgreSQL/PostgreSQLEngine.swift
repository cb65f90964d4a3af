internal import Threading
internal import Time

/// PostgreSQL: threads that each run one job at a time on a connection of their own.
struct PostgreSQLEngine: Engine {
  let address: PostgreSQLAddress
  let migrations: [Migration]
  let configuration: StoreConfiguration

  var keepsOrder: Bool { false }

  func run(_ work: StoreWork, opened: () -> Void) throws {
    try PostgreSQLMigrator(
      PostgreSQLConnection(address, lockTimeout: configuration.busyTimeout), migrations
    ).migrate()
    // Apart, as idle readers don't notice that their connections are lost.
    let (writing, reading, calling) = (Availability(), Availability(), Availability())
    let signing = Availability()
    // The first of each kind, so that there is one of each even where the server has no room for all.
    var writer: PostgreSQLConnection? = try connect()
    var reader: PostgreSQLConnection? = try connectReader()
    var lane: PostgreSQLConnection? = try connectLane()
    var signer: PostgreSQLConnection? = try connect()
    var threads: [WorkerThread] = []
    defer {
      work.close()
      for thread in threads { thread.join() }
    }
    for _ in 0..<configuration.connections {
      let connection = writer.take()
      threads.append(
        try .start("awd-store") {
          var worker = PostgreSQLWorker(
            queue: work.writes, purpose: .writing, connection: connection, connect: connect,
            availability: writing, recorder: work.recorder, fence: work.fence
          ) { Transaction($0) }
          worker.run()
        })
    }
    for _ in 0..<configuration.readers {
      let connection = reader.take()
      threads.append(
        try .start("awd-reader") {
          var worker = PostgreSQLWorker(
            queue: work.reads, purpose: .reading, connection: connection, connect: connectReader,
            availability: reading, recorder: work.recorder
          ) { Snapshot($0) }
          worker.run()
        })
    }
    for _ in 0..<configuration.lanes {
      let connection = lane.take()
      threads.append(
        try .start("awd-lane") {
          var worker = PostgreSQLWorker(
            queue: work.batches, purpose: .writing, limit: configuration.groupLimit,
            connection: connection, connect: connectLane, availability: calling,
            recorder: work.recorder, fence: work.fence
          ) { Transaction($0) }
          worker.run()
        })
    }
    let connection = signer.take()
    threads.append(
      try .start("awd-heartbeat") {
        var worker = PostgreSQLWorker(
          queue: work.signs, purpose: .writing, connection: connection, connect: connect,
          availability: signing, recorder: work.recorder
        ) { Transaction($0) }
        worker.run()
      })
    opened()
    for thread in threads { thread.join() }
  }

  /// Makes a connection that writes. It finds out first whether the server is another one than before.
  private func connect() throws(StoreError) -> PostgreSQLConnection {
    let connection = try PostgreSQLConnection(address, lockTimeout: configuration.busyTimeout)
    try connection.keepHistory()
    return connection
  }

  /// Makes a connection for closures that read, with a transaction or without.
  private func connectReader() throws(StoreError) -> PostgreSQLConnection {
    let connection = try PostgreSQLConnection(address, lockTimeout: configuration.busyTimeout)
    try connection.run("SET default_transaction_read_only = on")
    return connection
  }

  /// Makes a connection for calls. Each has a few rows, and the tables may have many, whatever the statistics say; and
  /// to plan a call by the lengths of its arrays would take longer than to run it.
  private func connectLane() throws(StoreError) -> PostgreSQLConnection {
    let connection = try connect()
    try connection.run("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan")
    try connection.run(
      "SET lock_timeout = \(PostgreSQLWorker<Transaction>.lockPatience.milliseconds)")
    return connection
  }
}
