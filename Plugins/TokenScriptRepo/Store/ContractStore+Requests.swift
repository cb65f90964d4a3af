internal import Storage
internal import Platform

extension ContractStore {
  /// The requests of a network that are counted on all nodes together, and the verifications of a reported file.
  enum CountedRequest: String, DatabaseValueConvertible, Sendable {
    case publication, preview, report, verification

    /// The most requests of an hour.
    var limit: Int { [.publication: 30, .verification: 1][self] ?? 10 }
  }

  /// The time for which a request counts, in milliseconds.
  private static let span: Int64 = 3_600_000

  /// Counts a request in a transaction that holds the lock.
  ///
  /// - Parameters:
  ///   - request: the kind of request.
  ///   - network: the client's network, or a file's digest; requests without one are not counted.
  ///   - now: the present time.
  /// - Returns: nil, or the seconds to wait if the network has had too many, at least one.
  static func count(
    _ request: CountedRequest, from network: String?, at now: Timestamp,
    _ transaction: borrowing Transaction
  ) throws -> Int? {
    guard let network else { return nil }
    let start = now.milliseconds - span
    try transaction.execute("DELETE FROM tokenscript_requests WHERE time <= ?", start)
    let times: [Int64] = try transaction.values(
      "SELECT time FROM tokenscript_requests WHERE kind = ? AND network = ? ORDER BY time",
      request, network)
    if times.count >= request.limit {
      return max(1, Int((times[times.count - request.limit] - start + 999) / 1000))
    }
    try transaction.execute(
      "INSERT INTO tokenscript_requests VALUES (?, ?, ?)", request, network, now.milliseconds)
    return nil
  }

  /// Counts a request, on all nodes together.
  ///
  /// - Returns: nil, or the seconds to wait if the network has had too many, at least one.
  /// - Throws: ``StoreError``.
  func count(
    _ request: CountedRequest, from network: String?, at now: Timestamp
  ) async throws -> Int? {
    try await store.write(isolation: .rowLocks) { transaction in
      _ = try Self.lock(transaction)
      return try Self.count(request, from: network, at: now, transaction)
    }
  }
}
