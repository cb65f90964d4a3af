internal import Cryptography
internal import Storage

/// Writes each message into the mailboxes at once, in a store that other nodes share: none of them knows what another one has
/// in memory. Those of many users are one call of a function in the database.
struct SharedDeliveries: Deliveries {
  /// The most copies for full mailboxes that are delivered in one transaction.
  private static let copiesForFull = 32

  let store: Store
  let mailboxes: Mailboxes
  /// Tells nodes that the mailbox of a user has entries up to a position.
  var notify: @Sendable (MailboxPosition, EncryptionPublicKey, [NodeID]) -> Void = { _, _, _ in }
  /// Closes this node's sessions of version 1 of a user who has no version 1 any more.
  var closeVersion1: @Sendable (EncryptionPublicKey) async -> Void = { _ in }

  func deliver(
    _ pieces: [ArraySlice<MessageCopy>], from login: AccountLogin
  ) async -> [Result<[Delivered], any Error>] {
    var results: [Result<[Delivered], any Error>] = []
    for piece in pieces {
      do { results.append(.success(try await deliver(piece, from: login))) } catch {
        results.append(.failure(error))
      }
    }
    return results
  }

  private func deliver(
    _ piece: ArraySlice<MessageCopy>, from login: AccountLogin
  ) async throws -> [Delivered] {
    let input = PostOperation.Input(copies: piece, login: login, mailboxes: mailboxes)
    let output = try await store.perform(input, by: PostOperation.self)
    var outcomes = output.outcomes
    mailboxes.wakes?.tell(output.wakes, 0, output.wakes > 0)
    guard outcomes.count == piece.count else { throw InconsistentMailbox() }
    await notifyNodes(of: outcomes, for: piece)
    let full = outcomes.indices.filter { outcomes[$0] == nil }
    for start in stride(from: 0, to: full.count, by: Self.copiesForFull) {
      let part = full[start..<min(start + Self.copiesForFull, full.count)]
      let copies = part.map { piece[piece.startIndex + $0] }
      let input = PostOperation.Input(copies: copies[...], login: login, mailboxes: mailboxes)
      let rest = try await store.write(isolation: .rowLocks) { transaction in
        try PostOperation.run(input, transaction)
      }
      mailboxes.wakes?.tell(rest.wakes, 0, rest.wakes > 0)
      await notifyNodes(of: rest.outcomes, for: input.copies)
      for (index, outcome) in zip(part, rest.outcomes) { outcomes[index] = outcome }
    }
    return outcomes.compactMap { $0?.result }
  }

  /// Tells other nodes of what was delivered. This node's sessions are told later: those of version 1 that a closing on
  /// another node has ended are closed before.
  private func notifyNodes(
    of outcomes: [PostOperation.Outcome?], for copies: ArraySlice<MessageCopy>
  ) async {
    for (copy, outcome) in zip(copies, outcomes) {
      guard let outcome, case .delivered(let position) = outcome.result else { continue }
      if outcome.isClosed { await closeVersion1(copy.recipient) }
      notify(position, copy.recipient, outcome.nodes)
    }
  }

  func write<Value: Sendable>(
    isolation: Isolation, _ body: @escaping MailboxChange<Value>
  ) async throws -> Value {
    try await store.write(isolation: isolation) { transaction in
      var none = PendingDeliveries()
      return try body(&none, transaction)
    }
  }

  /// Does nothing, as no message is ever pending.
  func flush(_ user: EncryptionPublicKey) async throws {}

  func lock(mailboxOf user: AccountNumber, _ transaction: borrowing Transaction) throws {
    try transaction.forEach(
      "SELECT 1 FROM apptimist_queues WHERE owner = ? FOR NO KEY UPDATE", user
    ) { _ in }
  }

  func lock(directoriesOf user: AccountNumber, _ transaction: borrowing Transaction) throws {
    try transaction.forEach(
      "SELECT 1 FROM apptimist_users WHERE id = ? FOR NO KEY UPDATE", user
    ) { _ in }
  }

  func nodes(of user: AccountNumber, _ transaction: borrowing Transaction) throws -> [NodeID] {
    try Self.nodes(of: user, transaction)
  }

  /// Returns the nodes that have sessions of a user.
  static func nodes(
    of user: AccountNumber, _ database: borrowing some Queryable & ~Copyable
  ) throws -> [NodeID] {
    try database.all("SELECT DISTINCT node FROM apptimist_sessions WHERE owner = ?", user) {
      try $0[0]
    }
  }
}
