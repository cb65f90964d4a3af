internal import ApptimistProtocol
internal import ApptimistSession
internal import Cryptography
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
  let clock: @Sendable () -> Timestamp
  private let searches = KeyedMutex<ExclusiveSearch>()

  /// Makes a user's account, if the identity provider permits it.
  ///
  /// - Returns: whether there is such an account now.
  func register(_ new: PDU.New, name: AccountName, uid: String) async throws -> Bool {
    var invitation: InvitationHash?
    switch await identity.judge(uid: uid, token: new.token) {
    case .refused: return false
    case .accepted: break
    case .invited(let hash): invitation = hash
    }
    let made = try await store.createUser(
      new.key, authenticationKey: new.authenticationKey, name: name.text, uid: uid,
      invitation: invitation, at: clock())
    return made == .created || made == .sameAgain
  }

  /// Finds accounts by their name, its beginning, or a pattern.
  func search(name: ShortBytes, max: Int) async throws -> [FoundAccount] {
    guard let name = name.text else { return [] }
    let wildcards = [UInt8(ascii: "*"), UInt8(ascii: "?")]
    guard name.utf8.contains(where: wildcards.contains) else {
      return try await store.search(name: name, max: max)
    }
    return try await searches.withLock(.pattern) { try await store.search(name: name, max: max) }
  }

  /// Finds users by the identity provider's name for them.
  func search(uid: ShortBytes, max: Int) async throws -> [FoundAccount] {
    guard let uid = uid.text else { return [] }
    return try await store.search(uid: uid, max: max)
  }
}
