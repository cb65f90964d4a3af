internal import Addresses
internal import Budgets
internal import Cryptography
internal import Time

/// Counts the things that clients have of the service, by their networks and accounts, so that none has
/// what others need.
///
/// The counts of the last hour are in memory, and forgotten when the program ends.
final class ClientAccounting: Sendable {
  private enum Counted: Hashable {
    case handshakes(ClientNetwork)
    case accounts(ClientNetwork)
    case identityChecks(ClientNetwork)
    case keyFetches(ClientNetwork)
    case chainCalls(ClientNetwork)
    case bytes(ClientNetwork)
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

  /// Counts a handshake.
  ///
  /// - Returns: nil if it is allowed, or the seconds until one is.
  func countHandshake(of network: ClientNetwork?) -> Int? {
    network.flatMap {
      lastHour.count(Counted.handshakes($0), upTo: limits.handshakesPerAddress)
    }
  }

  /// Counts an account that a client wants to make, if it may.
  func mayMakeAccount(_ network: ClientNetwork?) -> Bool {
    network.flatMap {
      lastHour.count(Counted.accounts($0), upTo: limits.accountsPerAddress)
    } == nil
  }

  /// Takes back an account that was counted and not made.
  func uncountAccount(of network: ClientNetwork?) {
    guard let network else { return }
    lastHour.uncount(Counted.accounts(network))
  }

  /// Counts a question to the identity provider, if it may be asked.
  func mayAskProvider(for network: ClientNetwork?) -> Bool {
    network.flatMap {
      lastHour.count(Counted.identityChecks($0), upTo: limits.identityChecksPerAddress)
    } == nil
  }

  /// Counts a fetch of the issuer's keys for a token that names an unknown one, if there may be one.
  func mayFetchKeys(for network: ClientNetwork?) -> Bool {
    network.flatMap {
      lastHour.count(Counted.keyFetches($0), upTo: limits.keyFetchesPerAddress)
    } == nil
  }

  /// Counts a question to a chain's endpoint, if it may be asked.
  func mayAskChain(for network: ClientNetwork?) -> Bool {
    network.flatMap {
      lastHour.count(Counted.chainCalls($0), upTo: limits.chainCallsPerAddress)
    } == nil
  }

  /// Counts the bytes of copies of messages, or of a file, that a client sent, if they may be stored.
  func mayStore(_ bytes: Int, from network: ClientNetwork?) -> Bool {
    network.flatMap {
      lastHour.count(Counted.bytes($0), amount: max(1, bytes), upTo: limits.bytesPerAddress)
    } == nil
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
