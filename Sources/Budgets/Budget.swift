internal import Synchronization
package import Platform

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
    (self.share, self.loss) = (share, loss)
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
    let (old, new) = (Self.rank(held.before), Self.rank(held.after))
    guard old != new || held.before == 0 || held.after == 0 else { return }
    state.ranks[old].remove(owner)
    if held.after > 0 { state.ranks[new].insert(owner) }
  }

  @inlinable static func rank(_ amount: Int) -> Int {
    Int.bitWidth - 1 - max(amount, 1).leadingZeroBitCount
  }
}
