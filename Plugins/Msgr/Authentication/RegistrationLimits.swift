internal import Formats
internal import Budgets
internal import Platform

/// Counts the accounts that are made from each client's network.
final class RegistrationLimits: Sendable {
  /// The numbers of accounts that a network may make.
  struct Limits: Sendable {
    var perMinute = 5
    var perDay = 50
  }

  /// The number of networks that have room in a table. Networks with the lowest counts lose their places to others.
  private static let tableSize = 1 << 13

  private let limits: Limits
  private let minute: AttemptTable
  private let day: AttemptTable

  /// Makes a count of nothing.
  init(_ limits: Limits, clock: @escaping @Sendable () -> Timestamp) {
    self.limits = limits
    minute = AttemptTable(span: .seconds(60), size: Self.tableSize, clock: clock)
    day = AttemptTable(span: .seconds(86_400), size: Self.tableSize, clock: clock)
  }

  /// Counts an account before its password is hashed, or refuses it.
  ///
  /// - Parameter network: the client's network; nil, which is a Unix socket, counts as one network.
  func begin(in network: ClientNetwork?) throws(RequestRefusal) {
    if let seconds = day.count(network, upTo: limits.perDay) { throw .tooMany(retryAfter: seconds) }
    if let seconds = minute.count(network, upTo: limits.perMinute) {
      day.uncount(network)
      throw .tooMany(retryAfter: seconds)
    }
  }

  /// Takes back the count of an account that wasn't made.
  func takeBack(in network: ClientNetwork?) {
    minute.uncount(network)
    day.uncount(network)
  }
}
