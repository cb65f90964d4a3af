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

  static var call: BatchCall<Input, Void> {
    BatchCall("SELECT place FROM awd_push_settle_v1(?, ?, ?)") { inputs, arrays in
      try arrays.append(integers: inputs.map { $0.push })
      try arrays.append(blobs: inputs.map { $0.owner })
      try arrays.append(texts: inputs.map { $0.target })
    } outcome: { row in
      (try row[0] - 1, .success(()))
    }
  }
}
