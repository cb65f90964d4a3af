internal import Formats
internal import Budgets
internal import Cryptography
internal import Platform

/// Counts the things that clients have of the service, by their networks and accounts, so that none has
/// what others need.
///
/// The counts of the last hour are in memory, and forgotten when the program ends.
final class ClientAccounting: Sendable {
  /// Something that clients of a network may do so often in an hour.
  enum Act: Hashable {
    case handshake
    /// Makes an account.
    case makeAccount
    /// Asks the identity provider.
    case askProvider
    /// Fetches the issuer's keys for a token that names an unknown one.
    case fetchKeys
    /// Asks a chain's endpoint.
    case askChain
    /// Stores a byte of a copy of a message, or of a file.
    case store
  }

  private enum Counted: Hashable {
    case act(Act, ClientNetwork)
    case forumBytes(EncryptionPublicKey)
    case addressChanges(EncryptionPublicKey)
  }

  /// The sessions that are not logged in.
  let joining: Budget<ClientNetwork>
  /// The sessions that are logged in.
  let sessions: Budget<ClientNetwork>
  private let limits: ClientLimits
  private let lastHour: AttemptTable

  init(_ limits: ClientLimits, clock: @escaping @Sendable () -> Timestamp) {
    self.limits = limits
    joining = Budget(capacity: limits.joining, share: limits.joiningPerAddress, loss: .idlest)
    sessions = Budget(capacity: limits.sessions, share: limits.sessionsPerAddress, loss: .idlest)
    lastHour = AttemptTable(span: .seconds(3600), size: 1 << 13, clock: clock)
  }

  /// Counts what clients of a network want to do, if they may.
  ///
  /// - Returns: nil if they may, or the seconds until then.
  func wait(for act: Act, of network: ClientNetwork?, amount: Int = 1) -> Int? {
    let limit =
      switch act {
      case .handshake: limits.handshakesPerAddress
      case .makeAccount: limits.accountsPerAddress
      case .askProvider: limits.identityChecksPerAddress
      case .fetchKeys: limits.keyFetchesPerAddress
      case .askChain: limits.chainCallsPerAddress
      case .store: limits.bytesPerAddress
      }
    return network.flatMap {
      lastHour.count(Counted.act(act, $0), amount: max(1, amount), upTo: limit)
    }
  }

  /// Counts what clients of a network want to do, if they may.
  func may(_ act: Act, _ network: ClientNetwork?, amount: Int = 1) -> Bool {
    wait(for: act, of: network, amount: amount) == nil
  }

  /// Takes back an act that was counted and not done.
  func uncount(_ act: Act, of network: ClientNetwork?) {
    if let network { lastHour.uncount(Counted.act(act, network)) }
  }

  /// Counts a change of a push address, if a user may make one.
  func mayChangeAddress(_ user: EncryptionPublicKey) -> Bool {
    lastHour.count(Counted.addressChanges(user), upTo: limits.pushChanges) == nil
  }

  /// Counts the bytes of all copies of a post to a forum, if they may be queued.
  func mayPost(_ bytes: Int, by user: EncryptionPublicKey) -> Bool {
    lastHour.count(Counted.forumBytes(user), amount: max(1, bytes), upTo: limits.forumBytes) == nil
  }
}
