internal import Addresses
internal import ApptimistProtocol
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
  /// - Returns: whether there is such an account now, and what became of another's.
  func register(_ new: NewAccount, from network: ClientNetwork?) async throws -> Registration {
    let registration = try await attempt(new, from: network)
    guard case .refused(let refusal) = registration else { return registration }
    log.info(
      "account refused",
      [
        "reason": refusal.reason, "name": new.name.text,
        "client": network?.description ?? "a Unix socket",
      ])
    return registration
  }

  /// The outcome of a request for an account.
  enum Registration {
    /// There is the account now.
    case made
    /// Another user had the account, and has lost it with these forums.
    case gaveWay(forums: [EncryptionPublicKey])
    case refused(Refusal)
  }

  /// A reason for which no account is made.
  enum Refusal {
    /// The identity provider says no.
    case identity(reason: String)
    /// The identity provider says nothing.
    case unavailable(reason: String)
    case tooManyQuestions
    case tooManyAccounts
    case taken
    case notInvited

    /// The reason in words.
    var reason: String {
      switch self {
      case .identity(let reason), .unavailable(let reason): "identity: \(reason)"
      case .tooManyQuestions: "the identity provider was asked too often for this address"
      case .tooManyAccounts: "too many accounts from this address"
      case .taken: "the key is taken"
      case .notInvited: "no such invitation"
      }
    }

    /// The error of version 2.
    var error: ErrorCode {
      switch self {
      case .identity, .notInvited: .notPermitted
      case .unavailable: .internalError
      case .tooManyQuestions, .tooManyAccounts: .overQuota
      case .taken: .keyTaken
      }
    }
  }

  private func attempt(
    _ new: NewAccount, from network: ClientNetwork?
  ) async throws -> Registration {
    if identity.asksOthers, !clients.mayAskProvider(for: network) {
      return .refused(.tooManyQuestions)
    }
    var invitation: InvitationHash?
    var proof: UIDProof?
    let applicant = Applicant(
      encryptionKey: new.key, authenticationKey: new.authenticationKey, uid: new.uid,
      token: new.token)
    let verdict = await identity.judge(applicant) { [clients, identity] in
      if case .siwe = identity { return clients.mayAskChain(for: network) }
      return clients.mayFetchKeys(for: network)
    }
    switch verdict {
    case .refused(let reason): return .refused(.identity(reason: reason))
    case .unavailable(let reason): return .refused(.unavailable(reason: reason))
    case .tooManyQuestions: return .refused(.tooManyQuestions)
    case .accepted: break
    case .signed(let kind): proof = kind
    case .invited(let hash): invitation = hash
    }
    let isCounted = clients.mayMakeAccount(network)
    var isCreated = false
    defer { if isCounted, !isCreated { clients.uncountAccount(of: network) } }
    let made = try await store.createUser(
      new, invitation: invitation, proof: proof, mayCreate: isCounted, at: clock())
    switch made {
    case .created:
      isCreated = true
      return .made
    case .sameAgain: return .made
    case .gaveWay(let forums): return .gaveWay(forums: forums)
    case .taken: return .refused(.taken)
    case .notInvited: return .refused(.notInvited)
    case .notNow: return .refused(.tooManyAccounts)
    }
  }

  /// Finds a part of the accounts that a search matches.
  ///
  /// - Parameters:
  ///   - search: the search, whose cursor is good.
  ///   - place: the place behind which to go on, or nil from the beginning.
  ///   - max: the most accounts.
  func search(
    _ search: AccountSearch, behind place: SearchPlace?, max: Int, from network: ClientNetwork?
  ) async throws -> [(user: Version2.User, place: SearchPlace)] {
    switch search {
    case .key(let key): return try await store.account(key).map { [$0] } ?? []
    case .uid(let query):
      guard let uid = query.text.text else { return [] }
      return try await store.accounts(uid: uid, behind: place, max: max)
    case .name(let query):
      guard let name = query.text.text else { return [] }
      guard name.utf8.contains(where: Self.wildcards.contains) else {
        return try await store.accounts(name: name, behind: place, max: max)
      }
      // Networks take turns, as one of them may have any number of accounts.
      return try await searches.withLock(.pattern, for: network?.hashValue ?? 0) {
        try await store.accounts(name: name, behind: place, max: max)
      }
    }
  }

  private static let wildcards = [UInt8(ascii: "*"), UInt8(ascii: "?")]
}
