internal import Budgets
internal import Formats
internal import Platform

/// Limits the cost of forged messages, without locking out the relay, which may share the senders' address.
final class ForgeryGuard: Sendable {
  /// The failures of an address in a minute after which it is a forger's.
  private static let failures = 20
  /// The tries in a second that are still looked at then.
  private static let tries = 10

  private let failed: AttemptTable
  private let tried: AttemptTable
  /// The addresses that valid signatures came from within the hour.
  private let proven: AttemptTable

  init(clock: @escaping @Sendable () -> Timestamp) {
    failed = AttemptTable(span: .seconds(60), clock: clock)
    tried = AttemptTable(span: .seconds(1), clock: clock)
    proven = AttemptTable(span: .seconds(3600), clock: clock)
  }

  /// Returns whether a message from an address is to be refused unread.
  ///
  /// - Parameter network: the address; nil, which is a Unix socket, counts as one.
  func refuses(_ network: ClientNetwork?) -> Bool {
    let hasFailed = failed.wait(for: network, upTo: Self.failures) != nil
    let isProven = proven.wait(for: network, upTo: 1) != nil
    guard hasFailed, !isProven else { return false }
    // Each message that is still read counts as a try.
    let wait = tried.count(network, upTo: Self.tries)
    return wait != nil
  }

  /// Records a message with a wrong proof.
  func recordFailure(_ network: ClientNetwork?) { _ = failed.count(network, upTo: Self.failures) }

  /// Records a message of the relay's.
  func recordSuccess(_ network: ClientNetwork?) { _ = proven.count(network, upTo: .max) }
}
