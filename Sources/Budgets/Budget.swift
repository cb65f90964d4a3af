package import Platform

internal import Synchronization

/// A capacity that many owners share, so that none of them can have what the others need.
///
/// Everything that is taken is charged to an owner, such as a client's network or an account. An owner may hold its share
/// at most. If the budget is full, the owner that holds most loses one of its holdings to the one that asks; only if
/// the asker itself would hold as much, it is refused. So there is room for newcomers while one owner does its worst.
///
/// Each response changes a holding, so that what does so is compiled for the owners of those who use it (`@inlinable`).
package final class Budget<Owner: Hashable & Sendable>: Sendable {
  /// The holding of an owner that is lost first.
  package enum Loss: Sendable {
    /// The one of the largest amount.
    case largest
    /// The one whose last use is longest ago.
    case idlest
  }

  @usableFromInline struct Account {
    @usableFromInline var held = 0
    @usableFromInline var holdings: [ObjectIdentifier: HoldingRecord<Owner>] = [:]

    @inlinable init() {}

    /// Changes what a holding has.
    ///
    /// - Returns: what the account held before, and holds now.
    @inlinable mutating func charge(
      _ record: HoldingRecord<Owner>, _ more: Int
    ) -> (before: Int, after: Int) {
      let before = held
      held += more
      let isNew = record.amount == 0
      record.amount += more
      if record.amount == 0 {
        holdings[ObjectIdentifier(record)] = nil
      } else if isNew {
        holdings[ObjectIdentifier(record)] = record
      }
      return (before, held)
    }
  }

  @usableFromInline struct State {
    @usableFromInline var statistics: BudgetStatistics
    @usableFromInline var accounts: [Owner: Account] = [:]
    /// The owners by the number of binary digits of what they hold, so that a large one is found without a search.
    @usableFromInline var ranks = [Set<Owner>](repeating: [], count: Int.bitWidth)
  }

  @usableFromInline let share: Int
  private let loss: Loss
  @usableFromInline let state: Lock<State>

  /// Makes a budget without holdings.
  ///
  /// - Parameters:
  ///   - capacity: the amount that all owners together may hold.
  ///   - share: the amount that one owner may hold.
  ///   - loss: the holding that an owner loses first.
  package init(capacity: Int, share: Int, loss: Loss = .largest) {
    self.share = share
    self.loss = loss
    state = Lock(State(statistics: BudgetStatistics(capacity: capacity)))
  }

  /// The figures of the budget at this moment.
  package var statistics: BudgetStatistics {
    state.withLock { state in
      var statistics = state.statistics
      statistics.owners = state.accounts.count
      return statistics
    }
  }

  /// Returns the amount that an owner holds.
  package func held(by owner: Owner) -> Int { state.withLock { $0.accounts[owner]?.held ?? 0 } }

  /// Changes the charge for one holding, and takes from the largest owner if that needs room.
  ///
  /// - Returns: whether the holding has the amount now; it always has a smaller one than before.
  @inlinable func set(_ record: HoldingRecord<Owner>, to amount: Int) -> Bool {
    let (isGranted, lost) = state.withLock { state -> (Bool, [HoldingRecord<Owner>]) in
      guard !record.isLost else { return (amount == 0, []) }
      let more = amount - record.amount
      guard more > 0 else {
        charge(record, more, &state)
        return (true, [])
      }
      let after = (record.owner.flatMap { state.accounts[$0]?.held } ?? 0) + more
      guard record.owner == nil || after <= share else {
        state.statistics.refuse()
        return (false, [])
      }
      // An exempt holding takes from anybody.
      let hasRoom = state.statistics.held + more <= state.statistics.capacity
      let lost = hasRoom ? [] : makeRoom(for: more, from: record.owner == nil ? 0 : after, &state)
      guard state.statistics.held + more <= state.statistics.capacity else {
        state.statistics.refuse()
        return (false, lost)
      }
      charge(record, more, &state)
      return (true, lost)
    }
    for record in lost { record.onLoss() }
    return isGranted
  }

  /// Takes holdings from owners that hold more than a given amount, until there is room; none if there can't be.
  @usableFromInline func makeRoom(
    for more: Int, from minimum: Int, _ state: inout State
  ) -> [HoldingRecord<Owner>] {
    var lost: [(record: HoldingRecord<Owner>, amount: Int)] = []
    while state.statistics.held + more > state.statistics.capacity {
      // Owners of one rank hold about as much: to look at a few of them is enough.
      let owners = (state.ranks.last { !$0.isEmpty } ?? []).prefix(8)
      guard let account = owners.compactMap({ state.accounts[$0] }).max(by: { $0.held < $1.held }),
        account.held > minimum,
        let victim = account.holdings.values.max(by: isKeptBefore)
      else {
        for (record, amount) in lost { charge(record, amount, &state) }
        return []
      }
      lost.append((victim, victim.amount))
      charge(victim, -victim.amount, &state)
    }
    for (record, _) in lost { record.isLost = true }
    state.statistics.lost += lost.count
    return lost.map(\.record)
  }

  private func isKeptBefore(_ left: HoldingRecord<Owner>, _ right: HoldingRecord<Owner>) -> Bool {
    switch loss {
    case .largest: left.amount < right.amount
    case .idlest: left.lastUse.load(ordering: .relaxed) > right.lastUse.load(ordering: .relaxed)
    }
  }

  @inlinable func charge(_ record: HoldingRecord<Owner>, _ more: Int, _ state: inout State) {
    guard more != 0 else { return }
    state.statistics.hold(more)
    guard let owner = record.owner else {
      record.amount += more
      return
    }
    let held = state.accounts[owner, default: Account()].charge(record, more)
    if held.after == 0 { state.accounts[owner] = nil }
    let old = Self.rank(held.before)
    let new = Self.rank(held.after)
    guard old != new || held.before == 0 || held.after == 0 else { return }
    state.ranks[old].remove(owner)
    if held.after > 0 { state.ranks[new].insert(owner) }
  }

  @inlinable static func rank(_ amount: Int) -> Int {
    Int.bitWidth - 1 - max(amount, 1).leadingZeroBitCount
  }
}

/// The figures of a budget at one moment.
package struct BudgetStatistics: Sendable, Equatable {
  /// The amount that all owners together may hold.
  package let capacity: Int
  /// The amount that is held.
  package internal(set) var held = 0
  /// The number of owners that hold something.
  package internal(set) var owners = 0
  /// The number of requests that were refused.
  package internal(set) var refused = 0
  /// The number of holdings that owners lost because they held most.
  package internal(set) var lost = 0

  /// Counts a change of the held amount.
  @usableFromInline mutating func hold(_ more: Int) { held += more }

  /// Takes note of a refused request.
  @usableFromInline mutating func refuse() { refused += 1 }
}

/// An amount of a budget that somebody holds; it goes back when the holding is released.
package final class Holding<Owner: Hashable & Sendable>: Sendable {
  @usableFromInline let budget: Budget<Owner>
  @usableFromInline let record: HoldingRecord<Owner>

  /// Makes a holding of nothing.
  ///
  /// - Parameters:
  ///   - owner: the owner that is charged; nil for one that has no share and never loses, such as a trusted proxy.
  ///   - onLoss: called once, on any thread, when somebody else got the amount: the connection or work behind it must end.
  package init(of budget: Budget<Owner>, for owner: Owner?, onLoss: @escaping @Sendable () -> Void)
  {
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
    self.owner = owner
    self.onLoss = onLoss
  }
}
