internal import ApptimistProtocol
internal import Cryptography
internal import Formats
internal import Observability
internal import Platform
internal import ServiceKit

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
  /// The free disk, of which a part is kept for known users, or nil if none is.
  var disk: DiskReserve?
  let log: Log
  let clock: @Sendable () -> Timestamp
  private let searches = KeyedMutex<ExclusiveSearch>()

  /// Makes a user's account, if the identity provider permits it.
  ///
  /// - Returns: the forums that another user, who had the account before, has lost with it, or nil if there was no other.
  /// - Throws: ``Refusal``.
  func register(
    _ new: RequestedAccount, from network: ClientNetwork?
  ) async throws -> [EncryptionPublicKey]? {
    do { return try await attempt(new, from: network) } catch let refusal as Refusal {
      log.info(
        "account refused",
        [
          "reason": refusal.reason, "name": new.name.text,
          "client": network?.description ?? "a Unix socket",
        ])
      throw refusal
    }
  }

  /// A reason for which no account is made.
  enum Refusal: Error {
    /// The identity provider says no.
    case identity(reason: String)
    /// The identity provider says nothing.
    case unavailable(reason: String)
    case tooManyQuestions
    case tooManyAccounts
    case taken
    case notInvited
    case badName(NameFault)

    /// The reason in words.
    var reason: String {
      switch self {
      case .identity(let reason), .unavailable(let reason): "identity: \(reason)"
      case .tooManyQuestions: "the identity provider was asked too often for this address"
      case .tooManyAccounts: "too many accounts from this address"
      case .taken: "the key is taken"
      case .notInvited: "no such invitation"
      case .badName(let fault): "the name \(fault.description)"
      }
    }

    /// The error of version 2.
    var error: ErrorCode {
      switch self {
      case .identity, .notInvited: .notPermitted
      case .unavailable: .internalError
      case .tooManyQuestions, .tooManyAccounts: .overQuota
      case .taken: .keyTaken
      case .badName: .badFilename
      }
    }
  }

  private func attempt(
    _ new: RequestedAccount, from network: ClientNetwork?
  ) async throws -> [EncryptionPublicKey]? {
    // An account that is there keeps its name, unless it gives way: then it gets the new one.
    if let fault = NameFault.find(in: new.name.text),
      try await store.name(of: new.key) != new.name.text
    {
      throw Refusal.badName(fault)
    }
    if disk?.refusesStrangers == true, try await !store.exists(new.key) {
      throw Refusal.tooManyAccounts
    }
    if identity.asksOthers, !clients.may(.askProvider, network) { throw Refusal.tooManyQuestions }
    var invitation: InvitationHash?
    var proof: UIDProof?
    let applicant = Applicant(
      encryptionKey: new.key, authenticationKey: new.authenticationKey, uid: new.uid,
      token: new.token, network: network)
    let decision = await identity.evaluate(applicant) { [clients, identity] in
      if case .siwe = identity { return clients.may(.askChain, network) }
      return clients.may(.fetchKeys, network)
    }
    switch decision {
    case .refused(let reason): throw Refusal.identity(reason: reason)
    case .unavailable(let reason): throw Refusal.unavailable(reason: reason)
    case .tooManyQuestions: throw Refusal.tooManyQuestions
    case .accepted: break
    case .signed(let kind): proof = kind
    case .invited(let hash): invitation = hash
    }
    if identity.provesIdentities, try await store.isDisabled(uid: new.uid) {
      throw Refusal.identity(reason: "the operator has disabled an account of this identity")
    }
    let isCounted = clients.may(.makeAccount, network)
    var isUsed = false
    defer { if isCounted, !isUsed { clients.refund(.makeAccount, of: network) } }
    let made = try await store.createUser(
      new, invitation: invitation, proof: proof, site: network?.site ?? "", mayCreate: isCounted,
      at: clock())
    switch made {
    case .created:
      isUsed = true
      return nil
    case .sameAgain: return nil
    case .gaveWay(let forums): return forums
    case .taken: throw Refusal.taken
    case .notInvited:
      // A guess of an invitation counts as an account.
      isUsed = true
      throw Refusal.notInvited
    case .notNow: throw Refusal.tooManyAccounts
    }
  }

  /// Finds a part of the accounts that a search matches.
  ///
  /// - Parameters:
  ///   - search: the search, whose cursor is good.
  ///   - place: the place behind which to go on, or nil from the beginning.
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
      // Sites take turns, as one of them may have any number of accounts.
      return try await searches.withLock(.pattern, for: network) {
        try await store.accounts(name: name, behind: place, max: max)
      }
    }
  }

  private static let wildcards = [UInt8(ascii: "*"), UInt8(ascii: "?")]
}

/// The person who applies for an account, as the identity provider evaluates it.
struct Applicant: Sendable {
  let encryptionKey: EncryptionPublicKey
  let authenticationKey: AuthenticationPublicKey
  /// The identity at the provider.
  let uid: String
  /// The proof of it.
  let token: [UInt8]
  /// The network from which it was shown.
  var network: ClientNetwork?
}
