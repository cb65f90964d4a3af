internal import Observability

extension ContractIndex {
  /// Logs the refusals that are new since another index, and a summary.
  ///
  /// - Parameters:
  ///   - log: the log.
  ///   - last: the index before this one.
  ///   - listing: the walk over the folder that this one was made of.
  ///   - verified: the number of files that were verified for it.
  ///   - took: the duration of the build.
  func log(
    to log: Log, after last: ContractIndex, _ listing: RepositoryFolder.Listing, verified: Int,
    took: Duration
  ) {
    for problem in listing.problems where problem.path.kind == nil {
      log.warning("left out", ["path": problem.path.text, "reason": problem.message])
    }
    let known = Set(last.refusals.map { "\($0.path)\u{0}\($0.reason.words)" })
    for (path, reason) in refusals where !known.contains("\(path)\u{0}\(reason.words)") {
      log.warning("refused", ["path": path.text, "reason": reason.words])
    }
    let stopped = Set(last.files.filter { $0.overrun != nil }.map(\.digest))
    for file in files {
      if let overrun = file.overrun, !stopped.contains(file.digest) {
        log.warning("too much work", ["path": file.path.text, "reason": overrun.words])
      }
      if let newer = file.replacedBy {
        log.warning("its last good version stays", ["path": file.path.text, "reason": newer.words])
      }
    }
    let facts: Log.Fields = ["verified": verified, "took": took]
    if rows == last.rows, last.generation > 0 {
      log.debug("\(summary), as before", facts)
    } else {
      log.info("\(summary)", facts)
    }
  }
}
