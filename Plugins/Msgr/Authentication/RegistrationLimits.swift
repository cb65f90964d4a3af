internal import Budgets
internal import Formats
internal import Platform

/// Counts the accounts that are made from each client's network.
final class RegistrationLimits: Sendable {
  /// The numbers of accounts that a network may make.
  struct Limits: Sendable {
    /// How many may be made at once: an office or a family begins on one day.
    var burst = 20
    /// How fast there is room for more after a burst.
    var perMinute = 5
    var perDay = 50
  }

  /// How many times as many accounts as one of its networks a site may make in a day.
  private static let networksOfSite = 10
  /// The number of networks that have room in a table. Networks with the lowest counts lose their places to others.
  private static let tableSize = 1 << 13

  private let limits: Limits
  private let recent: RefillTable
  private let rate: RefillTable.Rate
  private let day: AttemptTable

  init(_ limits: Limits, clock: @escaping @Sendable () -> Timestamp) {
    self.limits = limits
    recent = RefillTable(size: Self.tableSize, clock: clock)
    rate = RefillTable.Rate(
      burst: max(limits.burst, limits.perMinute), refill: .seconds(60) / limits.perMinute)
    day = AttemptTable(span: .seconds(86_400), size: Self.tableSize, clock: clock)
  }

  /// Counts an account before its password is hashed, or refuses it.
  ///
  /// - Parameter network: the client's network; nil, which is a Unix socket, counts as one network.
  func begin(in network: ClientNetwork?) throws(RequestRefusal) {
    if let seconds = day.count(network, upTo: limits.perDay) { throw .tooMany(retryAfter: seconds) }
    if let seconds = recent.use(network, at: rate) {
      day.refund(network)
      throw .tooMany(retryAfter: seconds)
    }
    guard let network else { return }
    let (product, isTooLarge) = limits.perDay.multipliedReportingOverflow(by: Self.networksOfSite)
    let seconds = day.count(network.site, upTo: isTooLarge ? .max : product)
    guard let seconds else { return }
    day.refund(network)
    recent.restore(network, at: rate)
    throw .tooMany(retryAfter: seconds)
  }

  /// Takes back the count of an account that wasn't made.
  func refund(in network: ClientNetwork?) {
    recent.restore(network, at: rate)
    day.refund(network)
    if let network { day.refund(network.site) }
  }
}
