internal import Storage
internal import Platform

/// The end of a push's lease. Where several nodes share the store, many ends are one call.
enum SettleOperation: BatchOperation {
  struct Input: Sendable {
    let push: Int64
    /// The name of the outbox that leased the push.
    let owner: [UInt8]
    /// The push service, if it has taken the push.
    let target: String?
    /// The moment from which the push is tried again, or nil if it is done with.
    let retry: Timestamp?
  }

  static func run(_ input: Input, _ transaction: borrowing Transaction) throws {
    if let retry = input.retry {
      try transaction.execute(
        """
        UPDATE push_outbox SET due_at = ?, lease_owner = NULL, lease_end = 0
        WHERE id = ? AND lease_owner = ?
        """, retry, input.push, input.owner)
    } else {
      try transaction.execute(
        "DELETE FROM push_outbox WHERE id = ? AND lease_owner = ?", input.push, input.owner)
    }
    guard let target = input.target else { return }
    try transaction.execute("INSERT INTO push_targets VALUES (?) ON CONFLICT DO NOTHING", target)
  }

  static let sql: StaticString = "SELECT place FROM awd_push_settle_v2(?, ?, ?, ?)"

  static func write(_ inputs: [Input], to parameters: inout PostgreSQLParameters) throws {
    try parameters.append(integers: inputs.map { $0.push })
    try parameters.append(blobs: inputs.map { $0.owner })
    try parameters.append(texts: inputs.map { $0.target })
    try parameters.append(integers: inputs.map { $0.retry?.milliseconds })
  }

  static func outcome(of row: borrowing Row) throws -> (index: Int, Result<Void, any Error>) {
    (try row[0] - 1, .success(()))
  }
}
