internal import ApptimistProtocol
internal import Cryptography
internal import Threading

/// What is on disk but not in its queues yet, as those who write and read queues must know it.
///
/// To put a message into ten queues changes some thirty pages of the file, and to write it down once
/// for ten users two. So a message is written down when it comes. A queue gets it later together with
/// others, which costs hardly more pages than one: when much has arrived, or when somebody reads it.
final class ArrivalMemory: Sendable {
  /// Touched by the writer's thread only; nil: the file must be asked.
  private let arrivals = Lock<Arrivals?>(nil)
  /// Whose queues on disk may lack something; nil: anybody's.
  private let lacking = Lock<Set<EncryptionPublicKey>?>(nil)

  /// Lends what has arrived to a closure within a transaction, on the writer's thread.
  ///
  /// - Parameters:
  ///   - load: asks the file.
  ///   - body: what to do with it. If the transaction is undone, ``end(isCommitted:)`` must tell.
  func withArrivals<Result>(
    load: () throws -> Arrivals, _ body: (inout Arrivals) throws -> sending Result
  ) throws -> Result {
    try arrivals.withLock { arrivals in
      var present = try arrivals ?? load()
      // Not shared while it is changed, or it would be copied.
      arrivals = nil
      let result = try body(&present)
      // Before anybody can be told of it.
      let added = present.takeAdded()
      lacking.withLock { $0?.formUnion(added) }
      arrivals = present
      return result
    }
  }

  /// Takes note of the end of a transaction, on the writer's thread.
  func end(isCommitted: Bool) {
    arrivals.withLock { arrivals in
      guard isCommitted else {
        arrivals = nil
        lacking.withLock { $0 = nil }
        return
      }
      guard let settled = arrivals?.takeSettled(), let recipients = arrivals?.recipients else {
        return
      }
      lacking.withLock { lacking in
        if lacking == nil { lacking = Set(recipients) } else { lacking?.subtract(settled) }
      }
    }
  }

  /// Whether a user's queue on disk has all that has arrived for it by now.
  func isSettled(_ user: EncryptionPublicKey) -> Bool {
    lacking.withLock { lacking in lacking.map { !$0.contains(user) } ?? false }
  }
}
