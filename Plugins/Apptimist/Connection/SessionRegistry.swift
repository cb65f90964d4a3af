internal import Cluster
internal import Cryptography
internal import Formats
internal import Observability
internal import Platform
internal import Storage

/// The sessions that are logged in.
typealias SessionHub = Hub<EncryptionPublicKey, SessionConnection>

extension Hub where User == EncryptionPublicKey, Member == SessionConnection {
  /// Closes the sessions of version 1 that a user has. What they have asked for meanwhile is not done, as their logins hold
  /// no more; one that is just logging in is closed when it reads.
  func closeVersion1(of user: EncryptionPublicKey) async {
    for session in members(of: user) where session.isVersion1 {
      leave(session.id, of: user)
      await session.evicted()
    }
  }

  /// Closes the sessions of a user whose account is deleted or disabled, but for the one that was asked for it.
  func closeAll(of user: EncryptionPublicKey, but session: SessionID? = nil) {
    for member in members(of: user) where member.id != session {
      member.close(1008, reason: "the account can't be used any more")
    }
  }
}

/// The number of a session in this process.
struct SessionID: Hashable, Sendable {
  let number: UInt64
}

/// A session among those of all nodes.
struct NodeSession: Hashable, Sendable {
  let node: NodeID
  let session: SessionID
}

extension SessionID: DatabaseValueConvertible {
  init?(databaseValue: DatabaseValue) {
    guard let number = Int64(databaseValue: databaseValue) else { return nil }
    self.init(number: UInt64(bitPattern: number))
  }

  var databaseValue: DatabaseValue { Int64(bitPattern: number).databaseValue }
}

/// The one for whom a query is dealt with.
struct Requester: Sendable {
  let session: SessionID
  /// The client's network, or nil if it came by a Unix socket.
  let network: ClientNetwork?
  /// The account for which the session has logged in, or nil if it has not.
  let login: AccountLogin?

  /// The owner of the work that the query makes.
  var owner: WorkOwner? {
    guard let login else { return WorkOwner(client: network, account: session) }
    return WorkOwner(client: network, account: login.user)
  }

  /// Returns the account for which the session has logged in, without which nothing is changed.
  func loggedIn() throws -> AccountLogin {
    guard let login else { throw NotLoggedIn() }
    return login
  }

  private struct NotLoggedIn: Error {}
}

/// The sessions of all nodes that share the store: each is recorded there while it lasts.
final class SessionRegistry: MemberRegistry {
  /// A message from node to node about a user, beside entries.
  enum Message: Hashable, Sendable {
    /// The account has no version 1 any more.
    case closedVersion1
    /// The account is deleted.
    case left
    /// A session has to give way to later ones of the user.
    case evicted(NodeSession)

    /// The message in a notice.
    var content: [UInt8] {
      switch self {
      case .closedVersion1: [1]
      case .left: [3]
      case .evicted(let session):
        [2] + NotificationKind.bytes(session.node.rawValue)
          + NotificationKind.bytes(Int64(bitPattern: session.session.number))
      }
    }

    /// Reads a message; nil if it is none.
    init?(_ content: [UInt8]) {
      switch (content.first, content.count) {
      case (1, 1): self = .closedVersion1
      case (3, 1): self = .left
      case (2, 17):
        guard let node = NotificationKind.number(content[1..<9]),
          let session = NotificationKind.number(content[9...])
        else { return nil }
        self = .evicted(
          NodeSession(
            node: NodeID(rawValue: node), session: SessionID(number: UInt64(bitPattern: session))))
      default: return nil
      }
    }
  }

  private struct State {
    /// The moment at which this node has joined the others, as the store knew it at the last check.
    var joined: Int64?
    /// True if it was taken for dead since the check before, and its sessions were forgotten.
    var hasReturned = false
    /// The history of the store, as of the last check.
    var epoch: UInt64 = 0
  }

  private let node: NodeID
  private let store: ApptimistStore
  private let hub: SessionHub
  private let limit: Int
  private let state = Lock(State())

  init(_ store: ApptimistStore, _ hub: SessionHub, node: NodeID, limit: Int) {
    self.store = store
    self.hub = hub
    self.node = node
    self.limit = limit
  }

  func key(of user: EncryptionPublicKey) -> [UInt8] { user.bytes }

  func user(withKey key: [UInt8]) -> EncryptionPublicKey? { EncryptionPublicKey(key[...]) }

  func receive(_ content: [UInt8], of key: [UInt8]) async {
    guard let user = user(withKey: key) else { return }
    switch Message(content) {
    case .closedVersion1: await hub.closeVersion1(of: user)
    case .left: hub.closeAll(of: user)
    case .evicted(let session):
      if session.node == node { hub.member(session.session, of: user)?.evict() }
    case nil: break
    }
  }

  func entries(
    at places: [(user: EncryptionPublicKey, position: MailboxPosition)]
  ) async throws -> [(user: EncryptionPublicKey, entry: StreamEntry<MailboxPosition, MailboxEntry>)]
  {
    try await store.messages(at: places).filter { message in
      // A session that has lost its account finds out when it reads.
      hub.members(of: message.user).allSatisfy { session in
        session.holds(authenticationKey: message.authenticationKey, isClosed: message.isClosed)
      }
    }.map { ($0.user, StreamEntry($0.entry)) }
  }

  func lastPositions(
    of members: [(user: EncryptionPublicKey, member: SessionConnection)]
  ) async throws -> [(user: EncryptionPublicKey, last: MailboxPosition)] {
    let users = Set(members.map(\.user))
    let states = try await store.states(of: Array(users))
    for user in users.subtracting(states.map(\.user)) { hub.closeAll(of: user) }
    for state in states where state.isClosed { await hub.closeVersion1(of: state.user) }
    return states.map { ($0.user, $0.last) }
  }

  /// The history of the store that a session which is opened now may count on.
  var epoch: UInt64 { state.withLock(\.epoch) }

  /// Checks which history the store has. Sessions that were opened in another one come again: their positions may be given
  /// again.
  func checkHistory() async throws {
    let epoch = try await store.epoch()
    state.withLock { $0.epoch = epoch }
    for (_, session) in hub.members where session.epoch != epoch {
      session.close(1012, reason: "the store has another history")
    }
  }

  func registeredMembers() async throws -> Set<SessionID>? {
    try await checkHistory()
    guard let stored = try await store.sessions(of: node) else { return nil }
    state.withLock { state in
      state.hasReturned = state.joined != stored.joined
      state.joined = stored.joined
    }
    return stored.sessions
  }

  func register(
    _ session: SessionConnection, of user: EncryptionPublicKey, wasRegistered: Bool
  ) async throws {
    if wasRegistered, !state.withLock(\.hasReturned) {
      // Its user has too many later ones.
      session.evict()
    } else {
      for other in try await join(session.id, of: user) where other.node == node {
        hub.member(other.session, of: user)?.evict()
      }
    }
  }

  /// Records a session that has logged in, and has it read what other nodes delivered before they knew of it.
  ///
  /// - Returns: the user's oldest sessions, on any node, which have to end if there are too many.
  func join(_ session: SessionID, of user: EncryptionPublicKey) async throws -> [NodeSession] {
    let recorded = NodeSession(node: node, session: session)
    let (evicted, last) = try await store.join(recorded, of: user, limit: limit)
    hub.publish([(user, .stored(upTo: last))])
    // It may have ended before it was recorded.
    if hub.member(session, of: user) == nil { try await forget(session) }
    return evicted
  }

  func forget(_ session: SessionID) async throws {
    try await store.leave(NodeSession(node: node, session: session))
  }
}

/// This node's sessions among those of all nodes that share the store.
struct SharedSessions: Sendable {
  let node: NodeID
  let hub: SessionHub
  let registry: SessionRegistry
  let link: NodeLink<SessionRegistry>
  let store: ApptimistStore
  let log: Log

  /// Records a session that has logged in, and ends the oldest one of its user, on any node, if there are too many.
  func joined(_ session: SessionID, of user: EncryptionPublicKey) {
    Task {
      do {
        for evicted in try await registry.join(session, of: user) {
          if evicted.node == node {
            hub.member(evicted.session, of: user)?.evict()
          } else {
            link.notify(
              SessionRegistry.Message.evicted(evicted).content, of: user, on: [evicted.node])
          }
        }
      } catch { log.warning("a session could not be recorded; retrying", ["cause": "\(error)"]) }
    }
  }

  /// Notifies other nodes of an entry in a mailbox.
  func notify(_ notification: MailboxNotification) {
    link.notify(notification.position, of: notification.user, on: notification.nodes)
  }

  /// Notifies other nodes that an account has no version 1 any more. Their sessions of version 1 find out when they read, too.
  func closedVersion1(of user: EncryptionPublicKey) async {
    guard let nodes = try? await store.nodes(of: user) else { return }
    link.notify(SessionRegistry.Message.closedVersion1.content, of: user, on: nodes)
  }
}
