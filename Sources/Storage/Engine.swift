/// The part of a store that knows the kind of its database.
protocol Engine: Sendable {
  /// Opens the database and brings its schema up to date, runs jobs until the queues are closed and empty, and closes the
  /// database.
  ///
  /// - Parameter opened: called when the database is open.
  /// - Throws: the error of opening.
  func run(_ work: StoreWork, opened: () -> Void) throws
}

/// The jobs of a store, and their statistics.
struct StoreWork: Sendable {
  let writes: JobQueue<Job<Transaction>>
  let reads: JobQueue<Job<Snapshot>>
  /// Jobs that can be done together; on SQLite none is queued here.
  let batches: JobQueue<Job<Transaction>>
  /// The heartbeats of a node to others by PostgreSQL, in a queue of their own.
  let heartbeats: JobQueue<Job<Transaction>>
  let fence = Fence()
  let recorder = StatisticsRecorder()

  /// Makes the queues.
  ///
  /// - Parameter limit: the number of jobs that may wait in each.
  init(limit: Int) {
    writes = JobQueue(limit: limit)
    reads = JobQueue(limit: limit)
    batches = JobQueue(limit: limit)
    heartbeats = JobQueue(limit: limit)
  }

  /// Refuses new jobs. Those that are queued are still done.
  func close() {
    reads.close()
    writes.close()
    batches.close()
    heartbeats.close()
  }
}
