internal import Synchronization

/// An amount of a budget that somebody holds; it goes back when the holding is released.
package final class Holding<Owner: Hashable & Sendable>: Sendable {
  @usableFromInline let budget: Budget<Owner>
  @usableFromInline let record: HoldingRecord<Owner>

  /// Makes a holding of nothing.
  ///
  /// - Parameters:
  ///   - budget: the budget.
  ///   - owner: the owner that is charged; nil for one that has no share and never loses, such as a trusted proxy.
  ///   - onLoss: called once, on any thread, when somebody else got the amount: the connection or work behind it must end.
  package init(of budget: Budget<Owner>, for owner: Owner?, onLoss: @escaping @Sendable () -> Void) {
    self.budget = budget
    record = HoldingRecord(owner: owner, onLoss: onLoss)
  }

  deinit { _ = budget.set(record, to: 0) }

  /// Changes the amount.
  ///
  /// - Parameter amount: the whole amount, at least 0.
  /// - Returns: whether it is held now. A refusal changes nothing; a smaller amount is never refused.
  @inlinable package func set(to amount: Int) -> Bool { budget.set(record, to: amount) }

  /// Takes note that the holding was of use.
  ///
  /// - Parameter moment: the moment, on any clock that all holdings of the budget share.
  package func used(at moment: Int64) { record.lastUse.store(moment, ordering: .relaxed) }
}

/// The part of a holding that its budget knows.
///
/// It is unchecked because what can change is used under the budget's lock only, but for the atomic.
@usableFromInline
final class HoldingRecord<Owner: Hashable & Sendable>: @unchecked Sendable {
  @usableFromInline let owner: Owner?
  @usableFromInline let onLoss: @Sendable () -> Void
  @usableFromInline var amount = 0
  /// True if the amount was given to somebody else.
  @usableFromInline var isLost = false
  let lastUse = Atomic<Int64>(0)

  init(owner: Owner?, onLoss: @escaping @Sendable () -> Void) {
    (self.owner, self.onLoss) = (owner, onLoss)
  }
}
