/// Work that many ask for alike, with an input and an output each.
///
/// On SQLite each is a closure of its own in the writer's group. On PostgreSQL as many as wait, up to 256, are one transaction,
/// which works on whole sets.
package protocol BatchOperation: Sendable {
  /// The input of one caller.
  associatedtype Input: Sendable
  /// The result for one caller.
  associatedtype Output: Sendable

  /// The amount of work of an input, 1 for most. The inputs of one batch have 256 together at most; a single one may have more.
  static func size(of input: Input) -> Int

  /// Does the work for one input on SQLite.
  static func run(_ input: Input, _ transaction: borrowing Transaction) throws -> Output

  /// Does the work for many inputs on PostgreSQL, at `READ COMMITTED`: it locks first what it goes by, in one order.
  ///
  /// It may run more than once, but is committed once. If it fails as a whole, it runs again for parts of the inputs, so that
  /// only those fail that make it fail; what may fail otherwise should be an outcome. An input whose rows others keep locked
  /// waits by itself, and keeps no others waiting. It may commit by ``Transaction/pipeline(_:commits:)``.
  ///
  /// - Returns: an outcome for each input, in order.
  static func run(
    _ inputs: [Input], in transaction: borrowing Transaction
  ) throws -> [Result<Output, any Error>]
}

extension BatchOperation {
  /// All inputs are alike.
  package static func size(of input: Input) -> Int { 1 }
}

/// A statement that goes to PostgreSQL together with others.
///
/// Its rows are arrays, one for each column. Several of them are rows fastest as `SELECT unnest(?) AS a, unnest(?) AS b`;
/// `FROM unnest(?, ?)` takes twice as long, as it makes all rows before the first one is used.
package struct PipelinedStatement {
  let sql: StaticString
  let parameters: PostgreSQLParameters
  let row: ((borrowing Row) throws -> Void)?

  /// Makes a statement.
  ///
  /// - Parameters:
  ///   - sql: one statement, which is prepared once for each connection.
  ///   - parameters: its parameters, in order.
  ///   - row: receives each row, once all statements have run; nil if rows don't matter.
  package init(
    _ sql: StaticString, _ parameters: PostgreSQLParameters = PostgreSQLParameters(),
    row: ((borrowing Row) throws -> Void)? = nil
  ) {
    self.sql = sql
    self.parameters = parameters
    self.row = row
  }
}

extension Transaction {
  /// Runs statements of PostgreSQL's in one round trip. A BEGIN that was not sent yet goes before them.
  ///
  /// No statement sees a result of another in its parameters, but each sees what those before it have changed and, at
  /// `READ COMMITTED`, what others have committed until it began.
  ///
  /// - Parameters:
  ///   - statements: the statements, in order.
  ///   - commits: whether a COMMIT goes behind them. Then nothing else can be run in the transaction.
  /// - Throws: the first failure, with which the whole transaction fails; `.unknown` if the connection was lost before the
  ///   outcome of a COMMIT was known; or the error of a closure.
  package borrowing func pipeline(
    _ statements: [PipelinedStatement], commits: Bool = false
  ) throws {
    try connection.requireTransaction()
    guard let connection = connection as? PostgreSQLConnection else {
      throw StoreError(.other, "only PostgreSQL has pipelines")
    }
    let uses = try statements.map { statement in
      try connection.pipelined(statement.sql, statement.parameters)
    }
    let results = try connection.run(
      zip(uses, statements).map { ($0.prepared, $1.parameters) }, commits: commits)
    for (index, result) in results.enumerated() {
      guard let body = statements[index].row else { continue }
      let use = PostgreSQLStatement(uses[index], result: result)
      let row = Row(use)
      while try use.step() { try body(row) }
    }
  }
}
