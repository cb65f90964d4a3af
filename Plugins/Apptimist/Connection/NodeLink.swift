internal import ApptimistSession
internal import Bus
internal import Cryptography
internal import Observability
internal import Storage
internal import Threading

/// Connects this node's sessions with those of other nodes that share the store.
///
/// A notice is only a reason to look, and one may be lost: sessions read on from their cursors.
final class NodeLink: Sendable {
  private let node: NodeID
  private let store: ApptimistStore
  private let hub: SessionHub
  private let bus: any Bus
  private let sessionLimit: Int
  private let log: Log
  private let state = Lock(State())

  private struct State {
    /// The sessions that are noted in the store.
    var noted: Set<SessionID> = []
    /// The moment at which this node has joined the others, as the store knew it at the last look.
    var joined: Int64?
    /// The history of the store, as of the last look.
    var epoch: UInt64?
  }

  init(
    node: NodeID, store: ApptimistStore, hub: SessionHub, bus: any Bus,
    sessionLimit: Int, log: Log
  ) {
    (self.node, self.store, self.hub) = (node, store, hub)
    (self.bus, self.sessionLimit, self.log) = (bus, sessionLimit, log)
  }

  // MARK: - Telling

  /// Notes a session that has logged in, and ends the oldest one of its user, on any node, if there are too many.
  func joined(_ session: SessionID, of user: EncryptionPublicKey) {
    Task {
      do {
        let session = NodeSession(node: node, session: session)
        let evicted = try await store.join(session, of: user, limit: sessionLimit)
        state.withLock { _ = $0.noted.insert(session.session) }
        for session in evicted where session.node == node { hub.evict(session.session, of: user) }
        bus.publish(
          evicted.filter { $0.node != node }.map { NodeNews.evicted($0).notice(of: user) })
        // It may have ended before it was noted.
        if !hub.has(session.session, of: user) { ended(session.session) }
      } catch { log.warning("a session isn't noted yet", ["cause": "\(error)"]) }
    }
  }

  /// Forgets a session that is over, with its locks.
  func ended(_ session: SessionID) {
    state.withLock { _ = $0.noted.remove(session) }
    // If that fails, the next look finds it.
    Task { try? await store.leave(NodeSession(node: node, session: session)) }
  }

  /// Tells other nodes that an account has no version 1 any more.
  func closedVersion1(of user: EncryptionPublicKey) {
    bus.publish([NodeNews.closedVersion1.notice(of: user)])
  }

  // MARK: - Hearing

  /// Tells sessions what other nodes have done, until the bus is closed.
  func run() async {
    for await event in bus.events(of: ApptimistService.name) {
      switch event {
      case .notices(let notices): await hear(notices)
      case .mayHaveMissed:
        do { try await look() } catch { log.debug("can't look yet", ["cause": "\(error)"]) }
      }
    }
  }

  private func hear(_ notices: [Notice]) async {
    for notice in notices {
      guard let (user, news) = NodeNews.read(notice) else { continue }
      switch news {
      case .grown(let position): hub.grown(user, to: position)
      case .closedVersion1: await hub.closeVersion1(of: user)
      case .evicted(let session):
        if session.node == node { hub.evict(session.session, of: user) }
      }
    }
  }

  /// Compares what the sessions know with the store.
  private func look() async throws {
    let epoch = try await store.epoch()
    let last = state.withLock { exchange(&$0.epoch, with: epoch) }
    // Positions that sessions have brought may be given again.
    if let last, last != epoch { hub.restart() }
    let sessions = hub.sessions
    if !sessions.isEmpty {
      for state in try await store.states(of: Array(Set(sessions.values))) {
        hub.grown(state.user, to: state.last)
        if state.isClosed { await hub.closeVersion1(of: state.user) }
      }
    }
    // Before the store is read: one that is noted meanwhile isn't missing there.
    let known = state.withLock(\.noted)
    // Without a row, this node is taken for dead by the others, and will soon be back.
    guard let stored = try await store.sessions(of: node) else { return }
    let hasReturned = state.withLock { state in
      defer { state.joined = stored.joined }
      return state.joined != stored.joined
    }
    for (session, user) in sessions where !stored.sessions.contains(session) {
      if hasReturned {
        joined(session, of: user)
      } else if known.contains(session) {
        // Its user has too many later ones.
        hub.evict(session, of: user)
      }
    }
    let present = hub.sessions
    for session in stored.sessions where present[session] == nil { ended(session) }
  }
}
