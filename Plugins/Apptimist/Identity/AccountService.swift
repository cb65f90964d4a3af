internal import Addresses
internal import ApptimistProtocol
internal import ApptimistSession
internal import Cryptography
internal import Observability
internal import Threading
internal import Time

/// Makes accounts, and finds them.
struct AccountService: Sendable {
  /// A search that only one session at a time may make.
  private enum ExclusiveSearch {
    /// The search for a pattern looks at every name, and nothing else could be read meanwhile.
    case pattern
  }

  let store: ApptimistStore
  let identity: IdentityProvider
  let clients: ClientAccounting
  let log: Log
  let clock: @Sendable () -> Timestamp
  private let searches = KeyedMutex<ExclusiveSearch>()

  /// Makes a user's account, if the identity provider permits it.
  ///
  /// - Returns: whether there is such an account now.
  func register(
    _ new: PDU.New, name: AccountName, uid: String, from network: ClientNetwork?
  ) async throws -> Bool {
    let refusal = try await refusal(of: new, name: name, uid: uid, from: network)
    guard let refusal else { return true }
    log.info(
      "account refused",
      [
        "reason": refusal.rawValue, "name": name.text,
        "client": network?.description ?? "a Unix socket",
      ])
    return false
  }

  /// A reason for which no account is made.
  private enum Refusal: String {
    case identity = "the identity provider says no"
    case tooManyQuestions = "the identity provider was asked too often for this address"
    case tooManyAccounts = "too many accounts from this address"
    case taken = "the key is taken"
    case notInvited = "no such invitation"
  }

  private func refusal(
    of new: PDU.New, name: AccountName, uid: String, from network: ClientNetwork?
  ) async throws -> Refusal? {
    if identity.asksOthers, !clients.mayAskProvider(for: network) { return .tooManyQuestions }
    var invitation: InvitationHash?
    switch await identity.judge(uid: uid, token: new.token) {
    case .refused: return .identity
    case .accepted: break
    case .invited(let hash): invitation = hash
    }
    let isCounted = clients.mayMakeAccount(network)
    var isCreated = false
    defer { if isCounted, !isCreated { clients.uncountAccount(of: network) } }
    let made = try await store.createUser(
      new.key, authenticationKey: new.authenticationKey, name: name.text, uid: uid,
      invitation: invitation, mayCreate: isCounted, at: clock())
    switch made {
    case .created:
      isCreated = true
      return nil
    case .sameAgain: return nil
    case .taken: return .taken
    case .notInvited: return .notInvited
    case .notNow: return .tooManyAccounts
    }
  }

  /// Finds accounts by their name, its beginning, or a pattern.
  func search(
    name: ShortBytes, max: Int, from network: ClientNetwork?
  ) async throws -> [FoundAccount] {
    guard let name = name.text else { return [] }
    let wildcards = [UInt8(ascii: "*"), UInt8(ascii: "?")]
    guard name.utf8.contains(where: wildcards.contains) else {
      return try await store.search(name: name, max: max)
    }
    // Networks take turns, as one of them may have any number of accounts.
    return try await searches.withLock(.pattern, for: network?.hashValue ?? 0) {
      try await store.search(name: name, max: max)
    }
  }

  /// Finds users by the identity provider's name for them.
  func search(uid: ShortBytes, max: Int) async throws -> [FoundAccount] {
    guard let uid = uid.text else { return [] }
    return try await store.search(uid: uid, max: max)
  }
}
