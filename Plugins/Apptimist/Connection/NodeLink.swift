internal import ApptimistSession
internal import Bus
internal import Cryptography
internal import Observability
internal import Storage

/// Connects this node's sessions with those of other nodes that share the store.
///
/// What a notice says, or that one may be lost, is only a reason to look: sessions read on from their cursors.
final class NodeLink: Sendable {
  private let node: NodeID
  private let store: ApptimistStore
  private let hub: SessionHub
  private let bus: any Bus
  private let sessionLimit: Int
  private let log: Log

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
        for session in evicted where session.node == node { hub.evict(session.session, of: user) }
        bus.publish(
          evicted.filter { $0.node != node }.map { NodeNews.evicted($0).notice(of: user) })
        // It may have ended before it was noted.
        if !hub.has(session.session, of: user) { try await store.leave(session) }
      } catch { log.warning("a session isn't noted yet", ["cause": "\(error)"]) }
    }
  }

  /// Forgets a session that is over, with its locks.
  func ended(_ session: SessionID) {
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
    let sessions = hub.sessions
    let users = Array(Set(sessions.values))
    guard !users.isEmpty else { return }
    for state in try await store.states(of: users) {
      hub.grown(state.user, to: state.last)
      if state.isClosed { await hub.closeVersion1(of: state.user) }
    }
    let noted = try await store.sessions(of: node)
    // Their user has too many, or another node has taken this one for dead.
    for (session, user) in sessions where !noted.contains(session) { joined(session, of: user) }
    for session in noted where sessions[session] == nil && hub.sessions[session] == nil {
      ended(session)
    }
  }
}
