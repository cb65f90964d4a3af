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

  /// Whoever queues a push behind another one of its device keeps the newest of these until the commit, so that the one that
  /// goes finds the one that is queued. All lock them in the order of the devices.
  static func run(
    _ inputs: [Input], in transaction: borrowing Transaction
  ) throws -> [Result<Void, any Error>] {
    var pushes = PostgreSQLParameters()
    try pushes.append(integers: inputs.map { $0.push })
    var ends = pushes
    try ends.append(blobs: inputs.map { $0.owner })
    try ends.append(integers: inputs.map { $0.retry?.milliseconds })
    var statements = [
      PipelinedStatement(
        """
        SELECT 1 FROM push_outbox WHERE id = ANY (?) ORDER BY service, device FOR UPDATE
        """, pushes),
      PipelinedStatement(
        """
        UPDATE push_outbox o SET due_at = s.due, lease_owner = NULL, lease_end = 0
        FROM unnest(?, ?, ?) AS s (id, owner, due)
        WHERE o.id = s.id AND o.lease_owner = s.owner AND s.due IS NOT NULL
        """, ends),
      PipelinedStatement(
        """
        DELETE FROM push_outbox o USING unnest(?, ?, ?) AS s (id, owner, due)
        WHERE o.id = s.id AND o.lease_owner = s.owner AND s.due IS NULL
        """, ends),
    ]
    let targets = Set(inputs.compactMap { $0.target }).sorted()
    if !targets.isEmpty {
      var parameters = PostgreSQLParameters()
      try parameters.append(texts: targets)
      statements.append(
        PipelinedStatement(
          """
          INSERT INTO push_targets
          SELECT t FROM unnest(?) t
          WHERE NOT EXISTS (SELECT 1 FROM push_targets p WHERE p.target = t)
          ON CONFLICT DO NOTHING
          """, parameters))
    }
    try transaction.pipeline(statements, commits: true)
    return inputs.map { _ in .success(()) }
  }
}
