internal import Cryptography
internal import Storage
internal import Platform

/// Writes each message into the message log, and later into the mailboxes, in a store that is this process's own.
///
/// Putting a message into ten mailboxes changes some thirty pages of the file, and logging it once for
/// ten users changes two. So a message is logged when it comes. A mailbox gets it later together with
/// others, which costs hardly more pages than one: when much is pending, or when somebody reads it.
final class LoggedDelivery: DeliveryStrategy {
  private let store: Store
  private let mailboxes: Mailboxes
  /// The pending deliveries on the disk, which only the writer's thread removes and puts back; nil if the file must be asked.
  private let pending = Lock<PendingDeliveries?>(nil)
  /// The users whose mailboxes on disk may lack something, or nil if anybody's may.
  private let lacking = Lock<Set<EncryptionPublicKey>?>(nil)

  init(_ store: Store, _ mailboxes: Mailboxes) {
    self.store = store
    self.mailboxes = mailboxes
  }

  func deliver(
    _ pieces: [ArraySlice<MessageCopy>], from login: AccountLogin,
    if forums: [EncryptionPublicKey: Forum]
  ) async -> [Result<DeliveredPiece, any Error>] {
    let steps: [@Sendable (borrowing Transaction) throws -> ([Delivered], wakes: Int)] =
      pieces.map { piece in
        { [self] transaction in
          try change(transaction) { [mailboxes] deliveries, transaction in
            deliveries.wakes = 0
            let delivered = try mailboxes.deliver(piece, from: login, &deliveries, transaction)
            try mailboxes.flush(&deliveries, transaction)
            return (delivered, deliveries.wakes)
          }
        }
      }
    let results: [Result<([Delivered], wakes: Int), any Error>]
    if steps.count == 1 {
      do { results = [.success(try await store.write(outcome: end, steps[0]))] } catch {
        return [.failure(error)]
      }
    } else {
      results = await store.write(steps: steps, outcome: end)
    }
    return results.map { result in
      result.map { delivered, wakes in
        mailboxes.wakes?.report(wakes, 0, wakes > 0)
        return DeliveredPiece(results: delivered)
      }
    }
  }

  func write<Value: Sendable>(
    isolation: Isolation, _ body: @escaping MailboxChange<Value>
  ) async throws -> Value {
    try await store.write(isolation: isolation, outcome: end) { [self] transaction in
      try change(transaction, body)
    }
  }

  func flush(_ user: EncryptionPublicKey) async throws {
    let isLacking = lacking.withLock { lacking in lacking.map { $0.contains(user) } ?? true }
    guard isLacking else { return }
    try await write(isolation: .rowLocks) { [mailboxes] deliveries, transaction in
      try mailboxes.flush(user, &deliveries, transaction)
    }
  }

  func lock(mailboxOf user: AccountNumber, _ transaction: borrowing Transaction) {}

  func lock(directoriesOf user: AccountNumber, _ transaction: borrowing Transaction) {}

  func nodes(of user: AccountNumber, _ transaction: borrowing Transaction) -> [NodeID] { [] }

  // MARK: - On the writer's thread

  private func change<Value>(
    _ transaction: borrowing Transaction, _ body: MailboxChange<Value>
  ) throws -> Value {
    // Taken out while it is changed: shared it would be copied, and a failure leaves nothing of the changes.
    var deliveries = try pending.withLock { $0.take() } ?? mailboxes.pending(transaction)
    let value = try body(&deliveries, transaction)
    // Before anybody can be notified of it.
    let added = deliveries.removeAdded()
    lacking.withLock { $0?.formUnion(added) }
    pending.withLock { $0 = deliveries }
    return value
  }

  /// Records the end of a transaction.
  @Sendable private func end(isCommitted: Bool) {
    guard isCommitted, var deliveries = pending.withLock({ $0.take() }) else {
      pending.withLock { $0 = nil }
      return lacking.withLock { $0 = nil }
    }
    let flushed = deliveries.removeFlushed()
    lacking.withLock { lacking in
      if lacking == nil { lacking = Set(deliveries.recipients) } else { lacking?.subtract(flushed) }
    }
    pending.withLock { $0 = deliveries }
  }
}
