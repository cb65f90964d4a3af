internal import Ethereum
internal import FoundationEssentials
internal import Storage
internal import Platform

// Answers are numbered like publications, so that each node sees those of the others.
extension ContractStore {
  /// Reads the last answers of some chains.
  ///
  /// - Parameters:
  ///   - change: the last change that is known, or nil for all answers.
  /// - Returns: the answers that have changed, and the number of the last change.
  /// - Throws: ``StoreError``.
  func chainAnswers(
    on chains: some Sequence<ChainID>, after change: Int64? = nil
  ) async throws -> (answers: [OriginContract: ChainAnswer], last: Int64) {
    let chains = Set(chains)
    let start = change ?? 0
    // Unless the store is shared, nobody else has stored any since.
    guard !chains.isEmpty, store.isShared || change == nil else { return ([:], start) }
    return try await store.read { snapshot in
      var answers: [OriginContract: ChainAnswer] = [:]
      var last = start
      try snapshot.forEach(
        """
        SELECT contract, chain, owner, name, scripts, roles, registered, entries, requested_at, change
        FROM tokenscript_chain_answers WHERE change > ?
        """, start
      ) { row in
        last = max(last, try row[9])
        let origin = OriginContract(try row[0], on: try row[1])
        guard chains.contains(origin.chain) else { return }
        let entries: String = try row[7]
        answers[origin] = ChainAnswer(
          owner: try row[2], name: try row[3], scripts: Self.lines(try row[4]),
          roles: Self.roles(try row[5]), registered: Self.lines(try row[6]),
          entries: (try? JSONDecoder().decode([ChainAnswer.Entry].self, from: Data(entries.utf8)))
            ?? [], time: Timestamp(seconds: try row[8]))
      }
      return (answers, last)
    }
  }

  /// Parses lines of a key and `1` if it has a role that makes it an issuer, else `0`.
  private static func roles(_ text: String) -> [EthereumAddress: Bool] {
    var roles: [EthereumAddress: Bool] = [:]
    for line in lines(text) {
      let words = line.split(separator: " ")
      if let key = EthereumAddress(String(words[0])) { roles[key] = words.last == "1" }
    }
    return roles
  }

  /// Stores answers, and deletes those about contracts that are no longer served.
  ///
  /// - Throws: ``StoreError``. A part may be stored then, and is valid.
  func remember(_ answers: [OriginContract: ChainAnswer], forgetting forgotten: [OriginContract])
    async throws
  {
    try await write(forgotten) { origin, transaction in
      try transaction.execute(
        "DELETE FROM tokenscript_chain_answers WHERE contract = ? AND chain = ?", origin.contract,
        origin.chain)
    }
    for batch in Self.batches(Array(answers)) {
      try await store.write(isolation: .rowLocks) { transaction in
        let change = try Self.lock(transaction) + 1
        for (origin, answer) in batch { try Self.insert(answer, on: origin, change, transaction) }
        try Self.record(change, transaction)
      }
    }
  }

  private static func insert(
    _ answer: ChainAnswer, on origin: OriginContract, _ change: Int64,
    _ transaction: borrowing Transaction
  ) throws {
    let roles = answer.roles.map { "\($0.checksummed) \($1 ? 1 : 0)" }.sorted()
    try transaction.execute(
      """
      INSERT INTO tokenscript_chain_answers
        (contract, chain, owner, name, scripts, roles, registered, entries, requested_at, change)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (contract, chain) DO UPDATE SET owner = excluded.owner, name = excluded.name,
        scripts = excluded.scripts, roles = excluded.roles, registered = excluded.registered,
        entries = excluded.entries, requested_at = excluded.requested_at, change = excluded.change
      """, origin.contract, origin.chain, answer.owner, answer.name,
      answer.scripts.joined(separator: "\n"), roles.joined(separator: "\n"),
      answer.registered.joined(separator: "\n"),
      String(decoding: try JSONEncoder().encode(answer.entries), as: UTF8.self),
      answer.time.seconds, change)
  }
}
