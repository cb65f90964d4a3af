internal import Cryptography
internal import Threading

/// Keeps the pending deliveries on disk in memory, for those who write and read mailboxes.
///
/// Putting a message into ten mailboxes changes some thirty pages of the file, and logging it once for
/// ten users changes two. So a message is logged when it comes. A mailbox gets it later together with
/// others, which costs hardly more pages than one: when much is pending, or when somebody reads it.
final class PendingDeliveryCache: Sendable {
  /// Touched by the writer's thread only; nil if the file must be asked.
  private let deliveries = Lock<PendingDeliveries?>(nil)
  /// The users whose mailboxes on disk may lack something, or nil if anybody's may.
  private let lacking = Lock<Set<EncryptionPublicKey>?>(nil)

  /// Lends the pending deliveries to a closure within a transaction, on the writer's thread.
  ///
  /// - Parameters:
  ///   - load: asks the file.
  ///   - body: changes the deliveries. The end of the transaction must be told to
  ///     ``end(isCommitted:)``.
  func withDeliveries<Result>(
    load: () throws -> PendingDeliveries,
    _ body: (inout PendingDeliveries) throws -> sending Result
  ) throws -> Result {
    try deliveries.withLock { deliveries in
      var present = try deliveries ?? load()
      // Not shared while it is changed, or it would be copied.
      deliveries = nil
      let result = try body(&present)
      // Before anybody can be told of it.
      let added = present.takeAdded()
      lacking.withLock { $0?.formUnion(added) }
      deliveries = present
      return result
    }
  }

  /// Takes note of the end of a transaction, on the writer's thread.
  func end(isCommitted: Bool) {
    deliveries.withLock { deliveries in
      guard isCommitted else {
        deliveries = nil
        lacking.withLock { $0 = nil }
        return
      }
      guard let flushed = deliveries?.takeFlushed(), let recipients = deliveries?.recipients else {
        return
      }
      lacking.withLock { lacking in
        if lacking == nil { lacking = Set(recipients) } else { lacking?.subtract(flushed) }
      }
    }
  }

  /// Whether a user's mailbox on disk has all that has been delivered to it by now.
  func isFlushed(_ user: EncryptionPublicKey) -> Bool {
    lacking.withLock { lacking in lacking.map { !$0.contains(user) } ?? false }
  }
}
