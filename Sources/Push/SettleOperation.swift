internal import Storage

/// The end of a push that isn't tried again. Where several nodes share the store, many ends are one call.
enum SettleOperation: BatchOperation {
  struct Input: Sendable {
    let push: Int64
    /// The name of the outbox that leased the push.
    let owner: [UInt8]
    /// The push service, if it has taken the push.
    let target: String?
  }

  static func run(_ input: Input, _ transaction: borrowing Transaction) throws {
    try transaction.execute(
      "DELETE FROM push_outbox WHERE id = ? AND lease_owner = ?", input.push, input.owner)
    guard let target = input.target else { return }
    try transaction.execute("INSERT INTO push_targets VALUES (?) ON CONFLICT DO NOTHING", target)
  }

  static let sql: StaticString = "SELECT place FROM awd_push_settle_v1(?, ?, ?)"

  static func write(_ inputs: [Input], to parameters: inout PostgreSQLParameters) throws {
    try parameters.append(integers: inputs.map { $0.push })
    try parameters.append(blobs: inputs.map { $0.owner })
    try parameters.append(texts: inputs.map { $0.target })
  }

  static func outcome(of row: borrowing Row) throws -> (index: Int, Result<Void, any Error>) {
    (try row[0] - 1, .success(()))
  }
}
