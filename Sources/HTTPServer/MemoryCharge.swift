internal import Formats
internal import Budgets

/// Memory that is charged to an owner, in steps, so that little of it costs no lock.
final class MemoryCharge: @unchecked Sendable {
  // Safe to share: the loop of its connection changes it; a task that outlives the connection only holds it.

  /// The amount below which nothing is charged, in bytes.
  static let step = 16 << 10

  let owner: ClientNetwork?
  private let holding: Holding<ClientNetwork>
  private var charged = 0
  /// The amount that is in use, in bytes.
  private(set) var amount = 0
  /// The number of bytes that were refused last.
  private(set) var missing = 0

  /// - Parameter onLoss: called on any thread when the memory was given to somebody else.
  init(
    to owner: ClientNetwork?, of budget: Budget<ClientNetwork>,
    onLoss: @escaping @Sendable () -> Void
  ) {
    self.owner = owner
    holding = Holding(of: budget, for: owner, onLoss: onLoss)
  }

  /// Changes the amount.
  ///
  /// - Returns: whether it was granted; if not, the memory is to be given back.
  func set(to amount: Int) -> Bool {
    self.amount = amount
    let steps = amount / MemoryCharge.step * MemoryCharge.step
    // What is given back a little later can be taken again without a lock.
    guard steps > charged || 2 * steps <= charged, steps != charged else { return true }
    guard holding.set(to: steps) else {
      missing = steps - charged
      return false
    }
    charged = steps
    return true
  }

  /// Changes the amount by a difference.
  func add(_ difference: Int) -> Bool { set(to: amount + difference) }
}
