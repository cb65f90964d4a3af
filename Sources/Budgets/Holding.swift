public import Synchronization

/// An amount of a budget that somebody holds; it goes back when the holding is released.
public final class Holding<Owner: Hashable & Sendable>: Sendable {
  @usableFromInline let budget: Budget<Owner>
  @usableFromInline let record: HoldingRecord<Owner>

  /// Makes a holding of nothing.
  ///
  /// - Parameters:
  ///   - budget: the budget.
  ///   - owner: the owner that is charged; nil for one that has no share and never loses, such as a trusted proxy.
  ///   - onLoss: called once, on any thread, when somebody else got the amount: the connection or work behind it must end.
  public init(of budget: Budget<Owner>, for owner: Owner?, onLoss: @escaping @Sendable () -> Void) {
    self.budget = budget
    record = HoldingRecord(owner: owner, onLoss: onLoss)
  }

  deinit { _ = budget.set(record, to: 0) }

  /// Changes the amount.
  ///
  /// - Parameter amount: the whole amount, at least 0.
  /// - Returns: whether it is held now. A refusal changes nothing; a smaller amount is never refused.
  @inlinable public func set(to amount: Int) -> Bool { budget.set(record, to: amount) }

  /// Takes note that the holding was of use.
  ///
  /// - Parameter moment: the moment, on any clock that all holdings of the budget share.
  public func used(at moment: Int64) { record.lastUse = moment }
}

/// The part of a holding that its budget knows.
@usableFromInline final class HoldingRecord<Owner: Hashable & Sendable>: Sendable {
  @usableFromInline let owner: Owner?
  @usableFromInline let onLoss: @Sendable () -> Void
  @usableFromInline let storedAmount = Atomic<Int>(0)
  @usableFromInline let storedLoss = Atomic<Bool>(false)
  private let storedUse = Atomic<Int64>(0)

  init(owner: Owner?, onLoss: @escaping @Sendable () -> Void) {
    self.owner = owner
    self.onLoss = onLoss
  }

  /// The amount, changed under the budget's lock only.
  @inlinable var amount: Int {
    get { storedAmount.load(ordering: .relaxed) }
    set { storedAmount.store(newValue, ordering: .relaxed) }
  }

  /// True if the amount was given to somebody else, changed under the budget's lock only.
  @inlinable var isLost: Bool {
    get { storedLoss.load(ordering: .relaxed) }
    set { storedLoss.store(newValue, ordering: .relaxed) }
  }

  var lastUse: Int64 {
    get { storedUse.load(ordering: .relaxed) }
    set { storedUse.store(newValue, ordering: .relaxed) }
  }
}
