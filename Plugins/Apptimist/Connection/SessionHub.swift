internal import ApptimistSession
internal import Bus
internal import Cryptography
internal import HTTPServer
internal import Threading
internal import Transport

/// Tells sessions what comes to their users; it alone knows the sessions of each user.
final class SessionHub: Sendable {
  /// An entry of a user's mailbox that is on disk.
  struct News: Sendable {
    let user: EncryptionPublicKey
    let entry: StreamEntry
  }

  /// A session, and the entries of which it is still to be told, in order.
  private final class Member {
    let connection: SessionConnection
    var entries: [StreamEntry] = []

    init(_ connection: SessionConnection) { self.connection = connection }
  }

  private struct State {
    /// The sessions of each user, the oldest first.
    var members: [EncryptionPublicKey: [Member]] = [:]
    var count = 0
    /// The sessions of version 1 that are logging in, with their users; false once they must not.
    var entering: [SessionID: (user: EncryptionPublicKey, mayJoin: Bool)] = [:]
    /// The sessions of each loop that are still to be told of entries.
    var untold: [ObjectIdentifier: [Member]] = [:]
  }

  private let limit: Int
  /// Tells other nodes, if there are any.
  private let bus: (any Bus)?
  private let state = Lock(State())

  /// A hub without sessions.
  ///
  /// - Parameters:
  ///   - limit: the most sessions of one user.
  ///   - bus: tells other nodes of what is published, or nil if there are none.
  init(limit: Int, bus: (any Bus)? = nil) {
    self.limit = limit
    self.bus = bus
  }

  /// Takes note that a session of version 1 is about to log in, before its account is looked up.
  func enter(_ id: SessionID, as user: EncryptionPublicKey) {
    state.withLock { $0.entering[id] = (user, true) }
  }

  /// Closes the sessions of version 1 that a user has, or is about to have. What they have asked for meanwhile is not done,
  /// as their logins hold no more.
  func closeVersion1(of user: EncryptionPublicKey) async {
    let members = state.withLock { state in
      for (id, entry) in state.entering where entry.user == user {
        state.entering[id]?.mayJoin = false
      }
      return (state.members[user] ?? []).map(\.connection).filter(\.isVersion1)
    }
    for member in members {
      leave(member.id, of: user)
      await member.evicted()
    }
  }

  /// Adds a session; if its user has too many with it, the oldest is removed.
  ///
  /// - Returns: the session that was removed, to be closed; this one, if its account was closed meanwhile.
  func join(_ member: SessionConnection, of user: EncryptionPublicKey) -> SessionConnection? {
    state.withLock { state in
      if state.entering.removeValue(forKey: member.id)?.mayJoin == false { return member }
      state.members[user, default: []].append(Member(member))
      state.count += 1
      guard state.members[user]?.count ?? 0 > limit else { return nil }
      state.count -= 1
      return state.members[user]?.removeFirst().connection
    }
  }

  /// Forgets a session that has not logged in.
  func leave(_ id: SessionID) {
    state.withLock { _ = $0.entering.removeValue(forKey: id) }
  }

  /// Forgets a session, if it is there.
  func leave(_ id: SessionID, of user: EncryptionPublicKey) {
    state.withLock { state in
      guard let index = state.members[user]?.firstIndex(where: { $0.connection.id == id })
      else { return }
      state.members[user]?.remove(at: index)
      state.count -= 1
      if state.members[user]?.isEmpty == true { state.members[user] = nil }
    }
  }

  /// Tells users' sessions, on all nodes, of new entries, each on its loop, in the order given.
  ///
  /// Entries that are published in one turn of a loop are told together, to one session after the
  /// other.
  ///
  /// - Parameters:
  ///   - news: the new entries, which must be on disk.
  ///   - origin: the session that made them, which is not told.
  func publish(_ news: [News], from origin: SessionID) {
    bus?.publish(news.map { NodeNews.grown(to: $0.entry.position).notice(of: $0.user) })
    let loops = state.withLock { state in
      var loops: [EventLoop] = []
      for item in news {
        for member in state.members[item.user] ?? [] where member.connection.id != origin {
          member.entries.append(item.entry)
          guard member.entries.count == 1 else { continue }
          let loop = member.connection.loop
          if state.untold[ObjectIdentifier(loop)] == nil { loops.append(loop) }
          state.untold[ObjectIdentifier(loop), default: []].append(member)
        }
      }
      return loops
    }
    for loop in loops {
      loop.execute { [self] in tell(on: loop) }
    }
  }

  private func tell(on loop: EventLoop) {
    let untold = state.withLock { state in
      (state.untold.removeValue(forKey: ObjectIdentifier(loop)) ?? []).map { member in
        (member.connection, exchange(&member.entries, with: []))
      }
    }
    for (connection, entries) in untold { connection.queued(entries) }
  }

  /// Tells a user's sessions that the mailbox has entries up to a position, which another node may have made.
  func grown(_ user: EncryptionPublicKey, to position: StreamPosition) {
    let members = state.withLock { $0.members[user]?.map(\.connection) ?? [] }
    for member in members { member.grown(to: position) }
  }

  /// Closes a session of a user who has too many later ones.
  func evict(_ id: SessionID, of user: EncryptionPublicKey) {
    state.withLock { $0.members[user]?.first { $0.connection.id == id }?.connection }?.evict()
  }

  /// Closes all sessions, so that their devices come again and read anew.
  func restart() {
    let members = state.withLock { $0.members.values.flatMap { $0.map(\.connection) } }
    for member in members { member.restart() }
  }

  /// Whether a session is logged in.
  func has(_ id: SessionID, of user: EncryptionPublicKey) -> Bool {
    state.withLock { $0.members[user]?.contains { $0.connection.id == id } == true }
  }

  /// The sessions that are logged in, with their users.
  var sessions: [SessionID: EncryptionPublicKey] {
    state.withLock { state in
      var sessions: [SessionID: EncryptionPublicKey] = [:]
      sessions.reserveCapacity(state.count)
      for (user, members) in state.members {
        for member in members { sessions[member.connection.id] = user }
      }
      return sessions
    }
  }

  /// The number of sessions that are logged in.
  var count: Int { state.withLock(\.count) }
}
