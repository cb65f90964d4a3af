/// The loop of a thread that reads. Each closure sees one state of the database.
struct SQLiteReader: ~Copyable {
  let connection: SQLiteConnection
  let recorder: StatisticsRecorder

  /// Runs jobs until the queue is closed and empty.
  func run(_ queue: JobQueue<Job<Snapshot>>) {
    while let job = queue.take(atMost: 1).first {
      do throws(StoreError) {
        connection.rollBack()
        try connection.control("BEGIN")
        job.run(in: Snapshot(connection))
      } catch { job.fail(error) }
      // A reader has nothing to commit, and so nothing that could fail.
      connection.rollBack()
      recorder.record { $0.reads += 1 }
      job.finish()
    }
  }
}
