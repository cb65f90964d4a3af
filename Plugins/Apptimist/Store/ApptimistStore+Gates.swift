internal import ApptimistProtocol
internal import Cryptography
internal import Ethereum
internal import Storage
internal import Platform

// The readers of forums that ask for a token.
extension ApptimistStore {
  /// Looks up the addresses that some users have proved to have on a chain: those of keys, and of that chain's contracts, as one of
  /// another chain may be somebody else's.
  func addresses(
    of users: some Sequence<EncryptionPublicKey> & Sendable, on chain: ChainID
  ) async throws -> [EncryptionPublicKey: EthereumAddress] {
    let start = StoredUID("eip155:\(chain):")
    return try await store.read { snapshot in
      var addresses: [EncryptionPublicKey: EthereumAddress] = [:]
      for user in users {
        let uid: StoredUID? = try snapshot.value(
          """
          SELECT uid FROM apptimist_users
          WHERE key = ? AND kind = ? AND (uid_proof = ? OR uid_proof = ? AND instr(uid, ?) = 1)
          """, user, StoredKind.user, UIDProof.key.rawValue, UIDProof.contract.rawValue, start)
        addresses[user] = uid.flatMap { EthereumAddress(String($0.text.suffix(42))) }
      }
      return addresses
    }
  }

  /// Chooses the forum with a gate that is to be asked about now, which no other node gets. A round begins once in an interval.
  func nextGate(at now: Timestamp, every interval: Duration) async throws -> EncryptionPublicKey? {
    try await store.write(isolation: .rowLocks) { transaction in
      let round = try transaction.one(
        "SELECT begun_at, forum FROM apptimist_gate_rounds /*postgresql FOR UPDATE */"
      ) { row in (begun: Timestamp(milliseconds: try row[0]), forum: try row[1] as AccountNumber?) }
      guard let round else { return nil }
      if round.forum == nil, round.begun <= now, now < round.begun + interval { return nil }
      let next = try transaction.one(
        """
        SELECT u.id, u.key FROM apptimist_files f JOIN apptimist_users u ON u.id = f.directory
        WHERE f.name = 'gate' AND f.size > 0 AND f.directory > ? AND u.kind = ?
        ORDER BY f.directory LIMIT 1
        """, round.forum?.rawValue ?? 0, StoredKind.forum
      ) { row in (number: try row[0] as AccountNumber, key: try row[1] as EncryptionPublicKey) }
      try transaction.execute(
        "UPDATE apptimist_gate_rounds SET begun_at = ?, forum = ?",
        (round.forum == nil ? now : round.begun).milliseconds, next?.number)
      return next?.key
    }
  }

  /// Changes the readers of a forum by its gate, if that is still the one that was asked about.
  ///
  /// - Parameters:
  ///   - forum: the forum.
  ///   - gate: the gate's file.
  ///   - new: a user who becomes a reader.
  ///   - lacking: users who are none any more, unless they have another role.
  ///   - holder: the session, if the store has the locks.
  /// - Returns: the error that applies; with any, nothing is changed.
  func changeReaders(
    of forum: EncryptionPublicKey, by gate: [UInt8], adding new: AccountLogin? = nil,
    removing lacking: Set<EncryptionPublicKey> = [], holder: NodeSession?
  ) async throws -> ErrorCode {
    let name = Filename(.subscribers)
    return try await store.write(isolation: .rowLocks) { transaction in
      guard let directory = try lockedDirectory(forum, transaction) else { return .notFound }
      if let new, try account(of: new, transaction) == nil { return .notPermitted }
      if let holder, try !isFree(name, in: directory.number, for: holder, transaction) {
        return .locked
      }
      guard try content(of: Filename.gate.text, in: directory.number, transaction) == gate else {
        return .internalError
      }
      let removed = try lacking.subtracting([directory.author])
        .subtracting(keys(in: .editors, of: directory.number, transaction))
        .subtracting(keys(in: .moderators, of: directory.number, transaction))
      let old = try content(of: name.text, in: directory.number, transaction) ?? []
      var readers = Self.keys(in: old)
      if let new, !readers.contains(new.user) { readers.append(new.user) }
      let changed = readers.filter { !removed.contains($0) }.flatMap(\.bytes)
      return changed == old ? .done : try put(changed, into: name, of: directory, transaction)
    }
  }
}
