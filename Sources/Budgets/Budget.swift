internal import Platform

internal import Synchronization

/// Whoever pays for a part of a ``Budget``, such as a client's network or an account.
package protocol BudgetOwner: Hashable, Sendable {
  /// The owners that this one belongs to, from the widest to itself, such as a site, a network of it, and an account there.
  ///
  /// Owners of one budget have equally many.
  var ancestry: [AnyHashable] { get }
  /// The number of steps from an owner up to the one that has a share: 0 for the owner itself.
  static var shareHeight: Int { get }
}

extension BudgetOwner {
  /// An owner that belongs to no wider one.
  package var ancestry: [AnyHashable] { [AnyHashable(self)] }
  package static var shareHeight: Int { 0 }
}

/// A capacity that many owners share, so that none of them can have what the others need.
///
/// Everything that is held is charged to an owner. A network may hold its share at most. If the budget is full, the widest owner
/// that holds most loses something to the one that asks: a site, within it the network that holds most, and there the account.
/// Only if the asker itself would hold as much, it is refused. So there is room for newcomers while one site does its worst
/// from all of its networks, and a network's neighbours pay for it before others do.
package final class Budget<Owner: BudgetOwner>: Sendable {
  let tree: BudgetTree

  /// Makes a budget without holdings.
  ///
  /// - Parameters:
  ///   - capacity: the amount that all owners together may hold.
  ///   - share: the amount that one owner may hold, or the one that it belongs to at the owner's ``BudgetOwner/shareHeight``.
  ///   - loss: the holding that an owner loses first.
  package init(capacity: Int, share: Int, loss: BudgetLoss = .largest) {
    tree = BudgetTree(
      capacity: capacity, share: share, shareHeight: Owner.shareHeight, loss: loss)
  }

  /// The figures of the budget at this moment.
  package var statistics: BudgetStatistics { tree.statistics }

  /// Returns the amount that an owner holds.
  package func held(by owner: Owner) -> Int { tree.held(by: owner.ancestry) }

  /// Returns the amount that the one holds whose share an owner has a part of.
  package func heldOfShare(of owner: Owner) -> Int {
    tree.held(by: owner.ancestry.dropLast(Owner.shareHeight))
  }
}

/// The holding of an owner that is lost first.
package enum BudgetLoss: Sendable {
  /// The one of the largest amount.
  case largest
  /// The one whose last use is longest ago.
  case idlest
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
}

/// An amount of a budget that somebody holds; it goes back when the holding is released.
package final class Holding<Owner: BudgetOwner>: Sendable {
  private let tree: BudgetTree
  private let record: HoldingRecord

  /// Makes a holding of nothing.
  ///
  /// - Parameters:
  ///   - owner: the owner that is charged; nil for one that has no share and never loses, such as a trusted proxy.
  ///   - onLoss: called once, on any thread, when somebody else got the amount: the connection or work behind it must end.
  package init(of budget: Budget<Owner>, for owner: Owner?, onLoss: @escaping @Sendable () -> Void)
  {
    tree = budget.tree
    record = HoldingRecord(onLoss: onLoss)
    if let owner { tree.join(record, owner.ancestry) }
  }

  deinit { tree.leave(record) }

  /// Changes the amount.
  ///
  /// - Parameter amount: the whole amount, at least 0.
  /// - Returns: whether it is held now. A refusal changes nothing; a smaller amount is never refused.
  package func set(to amount: Int) -> Bool { tree.set(record, to: amount) }

  /// Records that the holding was of use.
  ///
  /// - Parameter moment: the moment, on any clock that all holdings of the budget share.
  package func used(at moment: Int64) { record.lastUse.store(moment, ordering: .relaxed) }
}

/// The part of a holding that its budget knows.
///
/// It is unchecked because what can change is used under the budget's lock only, but for the atomic.
final class HoldingRecord: @unchecked Sendable {
  let onLoss: @Sendable () -> Void
  var amount = 0
  /// True if the amount was given to somebody else.
  var isLost = false
  /// The owner; nil for none.
  var owner: OwnerNode?
  let lastUse = Atomic<Int64>(0)

  init(onLoss: @escaping @Sendable () -> Void) { self.onLoss = onLoss }
}

/// An owner with what it and those that belong to it hold.
///
/// It is unchecked because it is used under the budget's lock only.
final class OwnerNode: @unchecked Sendable {
  let name: AnyHashable
  unowned let parent: OwnerNode?
  var held = 0
  /// The owners that belong to it and have holdings, if of nothing.
  private(set) var children: [AnyHashable: OwnerNode] = [:]
  /// The children by what they hold, where they are too many to look at all of them.
  private var ranks: OwnerRanks?
  /// The owner's own holdings of something.
  var holdings: [ObjectIdentifier: HoldingRecord] = [:]
  /// The number of its own holdings, if of nothing.
  var users = 0

  /// The number of children up to which they have no ranks: each change would cost more than a search.
  private static let few = 8

  init(_ name: AnyHashable, in parent: OwnerNode?) {
    self.name = name
    self.parent = parent
  }

  /// Changes what the owner and all that it belongs to hold.
  func add(_ more: Int) {
    let before = held
    held += more
    parent?.ranks?.move(self, from: before)
    parent?.add(more)
  }

  /// Returns the child of a name, which is made if there is none.
  func child(named name: AnyHashable) -> OwnerNode {
    if let child = children[name] { return child }
    let child = OwnerNode(name, in: self)
    children[name] = child
    if ranks == nil, children.count > Self.few { ranks = OwnerRanks(children.values) }
    return child
  }

  /// Removes a child that holds nothing.
  func remove(_ child: OwnerNode) {
    children[child.name] = nil
    if children.count <= Self.few / 2 { ranks = nil }
  }

  /// Returns the child that holds most, but for one; nil if no other holds anything.
  func largestChild(except excluded: OwnerNode?) -> OwnerNode? {
    if let ranks { return ranks.largest(except: excluded) }
    let others = children.values.filter { $0.held > 0 && $0 !== excluded }
    return others.max { $0.held < $1.held }
  }
}

/// Owners that hold something by the number of binary digits of what they hold, so that the one that holds most is found without
/// a search.
private struct OwnerRanks {
  private var ranks: [Int: [ObjectIdentifier: OwnerNode]] = [:]

  init(_ owners: some Sequence<OwnerNode>) {
    for owner in owners { move(owner, from: 0) }
  }

  /// Moves an owner that held something else before.
  mutating func move(_ owner: OwnerNode, from before: Int) {
    let old = before > 0 ? Self.rank(before) : nil
    let new = owner.held > 0 ? Self.rank(owner.held) : nil
    guard old != new else { return }
    let id = ObjectIdentifier(owner)
    if let old {
      ranks[old]?[id] = nil
      if ranks[old]?.isEmpty == true { ranks[old] = nil }
    }
    if let new { ranks[new, default: [:]][id] = owner }
  }

  /// Returns the owner that holds most, but for one.
  ///
  /// Owners of one rank hold about as much: to look at a few of them is enough.
  func largest(except excluded: OwnerNode?) -> OwnerNode? {
    for rank in ranks.keys.sorted(by: >) {
      let candidates = (ranks[rank] ?? [:]).values.prefix(9).filter { $0 !== excluded }
      if let largest = candidates.max(by: { $0.held < $1.held }) { return largest }
    }
    return nil
  }

  private static func rank(_ amount: Int) -> Int {
    Int.bitWidth - 1 - max(amount, 1).leadingZeroBitCount
  }
}

/// The owners of a budget and what they hold.
final class BudgetTree: Sendable {
  private struct State {
    var statistics: BudgetStatistics
    let root = OwnerNode("", in: nil)
  }

  private let share: Int
  private let shareHeight: Int
  private let loss: BudgetLoss
  private let state: Lock<State>

  init(capacity: Int, share: Int, shareHeight: Int, loss: BudgetLoss) {
    self.share = share
    self.shareHeight = shareHeight
    self.loss = loss
    state = Lock(State(statistics: BudgetStatistics(capacity: capacity)))
  }

  var statistics: BudgetStatistics { state.withLock(\.statistics) }

  func held(by ancestry: some Sequence<AnyHashable>) -> Int {
    state.withLock { state in
      var node: OwnerNode? = state.root
      for name in ancestry { node = node?.children[name] }
      return node?.held ?? 0
    }
  }

  /// Gives a holding its owner.
  func join(_ record: HoldingRecord, _ ancestry: [AnyHashable]) {
    state.withLock { state in
      var node = state.root
      for name in ancestry { node = node.child(named: name) }
      node.users += 1
      record.owner = node
    }
  }

  /// Releases a holding.
  func leave(_ record: HoldingRecord) {
    state.withLock { state in
      charge(record, -record.amount, &state)
      guard let owner = record.owner else { return }
      record.owner = nil
      owner.users -= 1
      var node = owner
      while node.users == 0, node.children.isEmpty, let parent = node.parent {
        parent.remove(node)
        node = parent
      }
    }
  }

  /// Changes the amount of a holding, and takes from those that hold most if that needs room.
  ///
  /// - Returns: whether the holding has the amount now; it always has a smaller one than before.
  func set(_ record: HoldingRecord, to amount: Int) -> Bool {
    let (isGranted, lost) = state.withLock { state -> (Bool, [HoldingRecord]) in
      guard !record.isLost else { return (amount == 0, []) }
      let more = amount - record.amount
      guard more > 0 else {
        charge(record, more, &state)
        return (true, [])
      }
      if let sharer = sharer(of: record.owner), sharer.held + more > share {
        state.statistics.refused += 1
        return (false, [])
      }
      let hasRoom = state.statistics.held + more <= state.statistics.capacity
      let lost = hasRoom ? [] : makeRoom(for: more, record.owner, &state)
      guard state.statistics.held + more <= state.statistics.capacity else {
        state.statistics.refused += 1
        return (false, lost)
      }
      charge(record, more, &state)
      return (true, lost)
    }
    for record in lost { record.onLoss() }
    return isGranted
  }

  /// Returns the one whose share an owner has a part of.
  private func sharer(of owner: OwnerNode?) -> OwnerNode? {
    var sharer = owner
    for _ in 0..<shareHeight { sharer = sharer?.parent }
    return sharer
  }

  /// Takes holdings from those that hold more than the asker would, until there is room; none if there can't be.
  private func makeRoom(
    for more: Int, _ asker: OwnerNode?, _ state: inout State
  ) -> [HoldingRecord] {
    var lost: [(record: HoldingRecord, amount: Int)] = []
    while state.statistics.held + more > state.statistics.capacity {
      guard let owner = largestOwner(below: state.root, for: more, asker),
        let victim = owner.holdings.values.max(by: isKeptBefore)
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

  /// Returns the owner that is to lose something, or nil if the asker itself would hold most.
  private func largestOwner(
    below root: OwnerNode, for more: Int, _ asker: OwnerNode?
  ) -> OwnerNode? {
    var line: [OwnerNode] = []
    var ancestor = asker
    while let node = ancestor, node !== root {
      line.append(node)
      ancestor = node.parent
    }
    var node = root
    // Down the asker's own line for as long as nobody beside it holds more.
    while let own = line.popLast() {
      if let other = node.largestChild(except: own), other.held > own.held + more {
        node = other
        break
      }
      node = own
    }
    if node === asker { return nil }
    while let child = node.largestChild(except: nil) { node = child }
    return node
  }

  private func isKeptBefore(_ left: HoldingRecord, _ right: HoldingRecord) -> Bool {
    switch loss {
    case .largest: left.amount < right.amount
    case .idlest: left.lastUse.load(ordering: .relaxed) > right.lastUse.load(ordering: .relaxed)
    }
  }

  private func charge(_ record: HoldingRecord, _ more: Int, _ state: inout State) {
    guard more != 0 else { return }
    state.statistics.held += more
    let isNew = record.amount == 0
    record.amount += more
    guard let owner = record.owner else { return }
    let before = owner.held
    owner.add(more)
    if before == 0 { state.statistics.owners += 1 }
    if owner.held == 0 { state.statistics.owners -= 1 }
    if record.amount == 0 {
      owner.holdings[ObjectIdentifier(record)] = nil
    } else if isNew {
      owner.holdings[ObjectIdentifier(record)] = record
    }
  }
}
