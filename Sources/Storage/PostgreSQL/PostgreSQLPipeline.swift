internal import CPostgreSQL

// Pipelines: several statements go to the server at once, and their results come back together.
extension PostgreSQLConnection {
  /// Runs prepared statements in one round trip, behind a BEGIN that waits.
  ///
  /// - Parameters:
  ///   - statements: the statements with their parameters, in order.
  ///   - commits: whether a COMMIT goes behind them.
  /// - Returns: the result of each statement.
  /// - Throws: the first failure, after which the transaction has to be rolled back; `.unknown` if the connection was lost
  ///   before the outcome of a COMMIT was known.
  func run(
    _ statements: [(statement: PreparedStatement, parameters: PostgreSQLParameters)], commits: Bool
  ) throws(StoreError) -> [PostgreSQLResult] {
    for (statement, parameters) in statements { try prepare(statement, for: parameters) }
    let start = ContinuousClock.now
    let begin = pendingBegin
    pendingBegin = nil
    guard unsafe PQenterPipelineMode(handle) == 1 else { throw lost() }
    defer { _ = unsafe PQexitPipelineMode(handle) }
    if let begin { try send(begin) }
    for (statement, parameters) in statements { try send(statement, parameters) }
    if commits { try send("COMMIT") }
    guard unsafe PQpipelineSync(handle) == 1 else { throw lost() }
    var results: [PostgreSQLResult] = []
    do throws(StoreError) {
      if begin != nil { _ = try nextResult() }
      for _ in statements {
        let result = try nextResult()
        if let count = result.changedRows { changedRows = count }
        results.append(result)
      }
      if commits {
        try checkCommitted(try nextResult())
        committed = ContinuousClock.now - start
      }
    } catch {
      endPipeline()
      // Behind a statement that has failed the server ignores the COMMIT.
      let hasStatementFailed = results.count < statements.count && error.sqlState != nil
      guard commits, !hasStatementFailed, isLost(error) else { throw error }
      let unknown = StoreError.lostDuringCommit(error)
      failure = unknown
      throw unknown
    }
    endPipeline()
    return results
  }

  private func send(_ sql: StaticString) throws(StoreError) {
    guard unsafe PQsendQueryParams(handle, "\(sql)", 0, nil, nil, nil, nil, 1) == 1 else {
      throw lost()
    }
  }

  private func send(
    _ statement: PreparedStatement, _ parameters: PostgreSQLParameters
  ) throws(StoreError) {
    let isSent = unsafe parameters.withPointers { values, lengths, formats in
      unsafe PQsendQueryPrepared(
        handle, statement.name, Int32(parameters.count), values, lengths, formats, 1)
    }
    guard isSent == 1 else { throw lost() }
  }

  /// Returns the result of the pipeline's next statement.
  private func nextResult() throws(StoreError) -> PostgreSQLResult {
    let answer = try unsafe result(PQgetResult(handle))
    // Its end.
    while let rest = unsafe PQgetResult(handle) { unsafe PQclear(rest) }
    return answer
  }

  /// Reads what the server has left to say up to the end of the pipeline.
  private func endPipeline() {
    var isAtEnd = false
    while !isAtEnd, !isBroken {
      let rest = unsafe PQgetResult(handle)
      isAtEnd = unsafe PQresultStatus(rest) == PGRES_PIPELINE_SYNC
      unsafe PQclear(rest)
    }
  }
}
