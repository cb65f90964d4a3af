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
