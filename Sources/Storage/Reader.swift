/// A thread's loop that reads: each closure sees one state of the database.
struct Reader: ~Copyable {
  private let connection: Connection
  private let meter: Meter

  init(_ connection: Connection, meter: Meter) {
    self.connection = connection
    self.meter = meter
  }

  /// Runs jobs until the queue is closed and empty.
  func run(_ queue: JobQueue<Job<Snapshot>>) {
    while let job = queue.take(atMost: 1).first {
      do throws(StoreError) {
        connection.rollBack()
        try connection.control("BEGIN")
        job.run(in: Snapshot(connection))
      } catch {
        job.fail(error)
      }
      // Nothing to keep, and so nothing that could fail.
      connection.rollBack()
      meter.record { $0.reads += 1 }
      job.finish()
    }
  }
}
