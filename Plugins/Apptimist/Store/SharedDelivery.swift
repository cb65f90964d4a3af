internal import Cryptography
internal import Storage

/// Writes each message into the mailboxes at once, in a store that other nodes share: none of them knows what another one has
/// in memory. Those of many users are one transaction.
struct SharedDelivery: DeliveryStrategy {
  /// The most copies for full mailboxes that are delivered in one transaction.
  private static let copiesForFull = 32

  let store: Store
  let mailboxes: Mailboxes

  func deliver(
    _ pieces: [ArraySlice<MessageCopy>], from login: AccountLogin,
    if forums: [EncryptionPublicKey: Forum]
  ) async -> [Result<DeliveredPiece, any Error>] {
    var results: [Result<DeliveredPiece, any Error>] = []
    var forums = forums
    for piece in pieces {
      let request = DeliveryRequest(copies: piece, login: login, forums: forums)
      do {
        results.append(.success(try await deliver(request)))
        // They have been compared, for all pieces.
        forums = [:]
      } catch {
        results.append(.failure(error))
        if error is ForumsChanged { break }
      }
    }
    return results
  }

  private func deliver(_ request: DeliveryRequest) async throws -> DeliveredPiece {
    let piece = request.copies
    let input = PostOperation.Input(request: request, mailboxes: mailboxes)
    let output = try await store.perform(input, by: PostOperation.self)
    mailboxes.wakes?.report(output.wakes, 0, output.wakes > 0)
    guard output.outcomes.count == piece.count else { throw InconsistentMailbox() }
    var outcomes = output.outcomes
    let full = outcomes.indices.filter { outcomes[$0] == nil }
    for start in stride(from: 0, to: full.count, by: Self.copiesForFull) {
      let part = full[start..<min(start + Self.copiesForFull, full.count)]
      let copies = part.map { piece[piece.startIndex + $0] }
      let remaining = DeliveryRequest(copies: copies[...], login: request.login)
      let input = PostOperation.Input(request: remaining, mailboxes: mailboxes)
      let rest = try await store.write(isolation: .rowLocks) { transaction in
        try PostOperation.run(input, transaction)
      }
      mailboxes.wakes?.report(rest.wakes, 0, rest.wakes > 0)
      for (index, outcome) in zip(part, rest.outcomes) { outcomes[index] = outcome }
    }
    var delivered = DeliveredPiece(results: [])
    for (copy, outcome) in zip(piece, outcomes) {
      guard let outcome else { throw InconsistentMailbox() }
      delivered.results.append(outcome.result)
      guard case .delivered(let position) = outcome.result else { continue }
      delivered.notifications.append(
        MailboxNotification(
          user: copy.recipient, position: position, nodes: outcome.nodes,
          isClosed: outcome.isClosed))
    }
    return delivered
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
