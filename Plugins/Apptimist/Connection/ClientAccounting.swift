internal import Budgets
internal import Configuration
internal import Cryptography
internal import Formats
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
    /// An act that counts by site in IPv6, where many networks are to be had for nothing.
    case actOfSite(Act, ClientSite)
    case forumBytes(EncryptionPublicKey)
    case addressChanges(EncryptionPublicKey)
    case rechecks(author: EncryptionPublicKey)
    case rechecksOfSite(Int64)
  }

  /// The sessions that are not logged in.
  let joining: Budget<ClientAccount>
  /// The sessions that are logged in.
  let sessions: Budget<ClientAccount>
  /// Returns the time.
  let now: @Sendable () -> Timestamp
  private let limits: ClientLimits
  private let lastHour: AttemptTable
  /// Questions to others, apart from bytes: a full table forgets the lowest counts.
  private let chainCalls: AttemptTable

  init(_ limits: ClientLimits, clock: @escaping @Sendable () -> Timestamp) {
    self.limits = limits
    now = clock
    joining = Budget(capacity: limits.joining, share: limits.joiningPerAddress, loss: .idlest)
    sessions = Budget(capacity: limits.sessions, share: limits.sessionsPerAddress, loss: .idlest)
    lastHour = AttemptTable(span: .seconds(3600), size: 1 << 13, clock: clock)
    chainCalls = AttemptTable(span: .seconds(3600), size: 1 << 13, clock: clock)
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
    guard let network else { return nil }
    let amount = max(1, amount)
    return table(for: act).count(Self.counted(act, network), amount: amount, upTo: limit)
  }

  private func table(for act: Act) -> AttemptTable {
    switch act {
    case .askProvider, .fetchKeys, .askChain: chainCalls
    case .handshake, .makeAccount, .store: lastHour
    }
  }

  private static func counted(_ act: Act, _ network: ClientNetwork) -> Counted {
    switch act {
    case .handshake, .store: .act(act, network)
    case .makeAccount, .askProvider, .fetchKeys, .askChain:
      network.isVersion4 ? .act(act, network) : .actOfSite(act, network.siteKey)
    }
  }

  /// Counts what clients of a network want to do, if they may.
  func may(_ act: Act, _ network: ClientNetwork?, amount: Int = 1) -> Bool {
    wait(for: act, of: network, amount: amount) == nil
  }

  /// Takes back an act that was counted and not done.
  func refund(_ act: Act, of network: ClientNetwork?) {
    if let network { table(for: act).refund(Self.counted(act, network)) }
  }

  /// Counts a change of a push address, if a user may make one.
  func mayChangeAddress(_ user: EncryptionPublicKey) -> Bool {
    lastHour.count(Counted.addressChanges(user), upTo: limits.pushChanges) == nil
  }

  /// Counts a question to a chain about the readers of a forum, if one more may be asked for its author and the author's site.
  func mayRecheck(_ gate: DueGate) -> Bool {
    let limit = limits.chainCallsPerAddress
    guard chainCalls.count(Counted.rechecks(author: gate.author), upTo: limit) == nil else {
      return false
    }
    return chainCalls.count(Counted.rechecksOfSite(gate.site), upTo: 4 * limit) == nil
  }

  /// Counts the bytes of all copies of a post to a forum, if they may be queued.
  func mayPost(_ bytes: Int, by user: EncryptionPublicKey) -> Bool {
    lastHour.count(Counted.forumBytes(user), amount: max(1, bytes), upTo: limits.forumBytes) == nil
  }
}

/// The limits of what one client's network or account may have, beside what all may have together.
struct ClientLimits: Sendable {
  /// The most sessions that are not logged in.
  var joining = 2_048
  /// The most of them of one network.
  var joiningPerAddress = 512
  /// The most sessions that are logged in.
  var sessions = 16_000
  /// The most of them of one network.
  var sessionsPerAddress = 4_000
  /// The most handshakes of one network in an hour.
  var handshakesPerAddress = 36_000
  /// The most accounts that one address makes in an hour: far fewer than a mailbox has messages.
  var accountsPerAddress = 1_000
  /// The most times in an hour that the identity provider is asked for one network.
  var identityChecksPerAddress = 600
  /// The most times in an hour that an issuer's keys are fetched because a token of one network names an unknown one.
  var keyFetchesPerAddress = 30
  /// The most times in an hour that the endpoints of chains are asked for one network.
  var chainCallsPerAddress = 60
  /// The most bytes in an hour of all copies of a user's posts to forums.
  var forumBytes = 256 << 20
  /// The most bytes in an hour of all copies of the messages, and of the files, that come from one network.
  var bytesPerAddress = 4 << 30
  /// The most bytes of the files of one site's accounts and of what they have in mailboxes.
  var storedPerAddress = 4 << 30

  /// The most changes of a user's push addresses in an hour.
  var pushChanges = 30

  /// Reads the keys of `[apptimist]`.
  mutating func read(_ section: ConfigurationSection) {
    let million = 1...1_000_000
    section.integer("unauthenticated_sessions", &joining, in: million)
    section.integer("unauthenticated_sessions_per_address", &joiningPerAddress, in: million)
    section.integer("all_sessions", &sessions, in: million)
    section.integer("sessions_per_address", &sessionsPerAddress, in: million)
    section.integer("handshakes_per_address", &handshakesPerAddress, in: 1...1_000_000_000)
    section.integer("accounts_per_address", &accountsPerAddress, in: 0...1_000_000_000)
    section.integer("identity_checks_per_address", &identityChecksPerAddress, in: 0...1_000_000_000)
    section.integer("key_fetches_per_address", &keyFetchesPerAddress, in: 0...1_000_000_000)
    section.integer("chain_calls_per_address", &chainCallsPerAddress, in: 0...1_000_000_000)
    section.size("forum_posts_size", &forumBytes, in: 0...(1 << 50))
    section.integer("push_changes_per_hour", &pushChanges, in: million)
    section.size("messages_size_per_address", &bytesPerAddress, in: 0...(1 << 50))
    section.size("stored_size_per_address", &storedPerAddress, in: 0...(1 << 50))
    // As many people may be behind one address.
    joiningPerAddress = section.multipliedByUsers(joiningPerAddress)
    sessionsPerAddress = section.multipliedByUsers(sessionsPerAddress)
    handshakesPerAddress = section.multipliedByUsers(handshakesPerAddress)
    accountsPerAddress = section.multipliedByUsers(accountsPerAddress)
    identityChecksPerAddress = section.multipliedByUsers(identityChecksPerAddress)
    keyFetchesPerAddress = section.multipliedByUsers(keyFetchesPerAddress)
    chainCallsPerAddress = section.multipliedByUsers(chainCallsPerAddress)
    bytesPerAddress = section.multipliedByUsers(bytesPerAddress)
    storedPerAddress = section.multipliedByUsers(storedPerAddress)
  }
}
