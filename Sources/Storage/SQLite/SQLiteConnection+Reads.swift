extension SQLiteConnection {
  /// Runs the jobs that read until the queue is closed and empty. Each closure sees one state of the database.
  func runReads(_ work: StoreWork) {
    while let job = work.reads.take(atMost: 1).first {
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
