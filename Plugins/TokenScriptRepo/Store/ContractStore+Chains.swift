internal import Cryptography
internal import Ethereum
internal import Storage
internal import Time
internal import TokenScriptReading

extension ContractStore {
  /// Reads the last words of some chains.
  ///
  /// - Throws: ``StoreError``.
  func chainWords(on chains: some Sequence<ChainID>) async throws -> [Origin: ChainWord] {
    let chains = Set(chains)
    guard !chains.isEmpty else { return [:] }
    return try await store.read { snapshot in
      var words: [Origin: ChainWord] = [:]
      try snapshot.forEach(
        "SELECT contract, chain, owner, scripts, registered, asked FROM tokenscript_chain_words"
      ) { row in
        let origin = Origin(try row[0], on: try row[1])
        guard chains.contains(origin.chain) else { return }
        let scripts: String = try row[3]
        let registered: String = try row[4]
        words[origin] = ChainWord(
          owner: try row[2], scripts: scripts.split(separator: "\n").map(String.init),
          registered: registered.split(separator: "\n").map(String.init),
          time: (try row[5] as StoredSeconds).time)
      }
      return words
    }
  }

  /// Stores words, and deletes those about contracts that are no longer served.
  ///
  /// - Throws: ``StoreError``. A part may be stored then, and is valid.
  func remember(_ words: [Origin: ChainWord], forgetting forgotten: [Origin]) async throws {
    try await write(forgotten) { origin, transaction in
      try transaction.execute(
        "DELETE FROM tokenscript_chain_words WHERE contract = ? AND chain = ?", origin.contract,
        origin.chain)
    }
    try await write(Array(words)) { item, transaction in
      let (origin, word) = item
      try transaction.execute(
        """
        INSERT INTO tokenscript_chain_words VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (contract, chain) DO UPDATE SET owner = excluded.owner,
          scripts = excluded.scripts, registered = excluded.registered, asked = excluded.asked
        """, origin.contract, origin.chain, word.owner, word.scripts.joined(separator: "\n"),
        word.registered.joined(separator: "\n"), word.time.seconds)
    }
  }
}
