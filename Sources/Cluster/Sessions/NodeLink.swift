package import Observability
package import Storage
internal import Platform

/// The part of a service that stores which members nodes have, and acts on other nodes' notifications.
package protocol MemberRegistry: Sendable {
  associatedtype User: Hashable & Sendable
  associatedtype Member: HubMember

  /// Returns the name of a user in notifications.
  func key(of user: User) -> [UInt8]

  /// Returns the user whom notifications name, or nil if there can't be such a user.
  func user(withKey key: [UInt8]) -> User?

  /// Does what another node's notification requests that isn't about entries.
  ///
  /// - Parameters:
  ///   - content: the service's own words, which may be anything.
  ///   - key: the name of the user or other thing that it is about.
  func receive(_ content: [UInt8], of key: [UInt8]) async

  /// Reads entries that other nodes have notified of, to be sent to all of this node's members of their users.
  ///
  /// - Parameter places: users with members on this node, and positions of theirs, of which there may be none.
  /// - Returns: as many of the entries as fit into a page; members read the others themselves.
  func entries(
    at places: [(user: User, position: Member.Position)]
  ) async throws -> [(user: User, entry: StreamEntry<Member.Position, Member.Content>)]

  /// Returns the last position of each user that is in the store.
  func lastPositions(
    of members: [(user: User, member: Member)]
  ) async throws -> [(user: User, last: Member.Position)]

  /// Returns the members of this node that are registered in the store, or nil while the node isn't registered there.
  func registeredMembers() async throws -> Set<Member.ID>?

  /// Registers a member in the store.
  ///
  /// - Parameter wasRegistered: whether it was registered at the last poll.
  func register(_ member: Member, of user: User, wasRegistered: Bool) async throws

  /// Removes a member that isn't there any more from the store.
  func forget(_ id: Member.ID) async throws
}

/// Connects the members of this node with those of other nodes that share the store.
///
/// A notification is only a reason to poll, and one may be lost: members read on from their cursors.
package final class NodeLink<Registry: MemberRegistry>: Sendable {
  /// A user of the service.
  package typealias User = Registry.User
  /// A stream or session of the service.
  package typealias Member = Registry.Member

  private struct State {
    /// The members that were registered at the last poll.
    var registered: Set<Member.ID> = []
    /// The registered members that weren't there.
    var absent: Set<Member.ID> = []
  }

  private let node: NodeID
  private let service: String
  private let registry: Registry
  private let hub: Hub<User, Member>
  private let bus: any Bus
  private let log: Log
  private let state = Lock(State())

  /// Connects a hub with others.
  package init(
    _ hub: Hub<User, Member>, _ registry: Registry, of service: String, node: NodeID,
    bus: any Bus, log: Log
  ) {
    self.hub = hub
    self.registry = registry
    self.service = service
    self.node = node
    self.bus = bus
    self.log = log
  }

  // MARK: - Sending

  /// Notifies other nodes of a user's entries.
  ///
  /// - Parameters:
  ///   - position: the last entry, which is in the store.
  ///   - nodes: the nodes that have members of the user, possibly this one too.
  package func notify(_ position: Member.Position, of user: User, on nodes: [NodeID]) {
    notify(
      [NotificationKind.entries] + NotificationKind.bytes(position.rawValue), of: user, on: nodes)
  }

  /// Notifies other nodes of something of a user's that isn't about entries.
  ///
  /// - Parameters:
  ///   - content: the service's own words, whose first byte is none that ``NotificationKind`` has.
  ///   - nodes: the nodes that have members of the user.
  package func notify(_ content: [UInt8], of user: User, on nodes: [NodeID]) {
    let others = nodes.filter { $0 != node }
    guard !others.isEmpty else { return }
    bus.publish(
      [NodeNotification(NotificationTopic(service, registry.key(of: user)), content)],
      to: .nodes(others))
  }

  /// Notifies all other nodes of something of a user's, whether they have members of the user or not.
  package func notifyAll(_ content: [UInt8], of user: User) {
    bus.publish([NodeNotification(NotificationTopic(service, registry.key(of: user)), content)])
  }

  // MARK: - Receiving

  /// Does what other nodes' notifications request, until the bus is closed.
  package func run() async {
    for await event in bus.events(of: service) {
      switch event {
      case .notifications(let notifications): await receive(notifications)
      case .mayHaveMissed:
        do { try await poll() } catch {
          log.debug(
            "streams could not be compared with the database; retrying", ["cause": "\(error)"])
        }
      }
    }
  }

  private func receive(_ notifications: [NodeNotification]) async {
    var places: [(user: User, position: Member.Position)] = []
    for notification in notifications {
      guard notification.content.first == NotificationKind.entries else {
        await registry.receive(notification.content, of: notification.topic.key)
        continue
      }
      guard let number = NotificationKind.number(notification.content.dropFirst()),
        let user = registry.user(withKey: notification.topic.key), hub.hasMembers(of: user),
        let position = Member.Position(rawValue: max(number, 0))
      else { continue }
      places.append((user, position))
    }
    guard !places.isEmpty else { return }
    // Without them, members read all of it themselves.
    let entries = (try? await registry.entries(at: places)) ?? []
    hub.publish(entries.map { ($0.user, .entry($0.entry)) })
    hub.publish(places.map { ($0.user, .rumor(upTo: $0.position)) })
  }

  /// Compares what the members know with the store, and the members that are registered there with those that are here.
  package func poll() async throws {
    let members = hub.members
    if !members.isEmpty {
      hub.publish(
        try await registry.lastPositions(of: members).map { ($0.user, .stored(upTo: $0.last)) })
    }
    guard let registered = try await registry.registeredMembers() else { return }
    let before = state.withLock { state in
      defer { state.registered = registered }
      return state
    }
    for (user, member) in members where !registered.contains(member.id) {
      try await registry.register(
        member, of: user, wasRegistered: before.registered.contains(member.id))
    }
    // One that is registered may be about to join.
    let absent = registered.subtracting(members.map(\.member.id))
      .subtracting(hub.members.map(\.member.id))
    for id in absent.intersection(before.absent) { try await registry.forget(id) }
    state.withLock { $0.absent = absent }
  }
}

/// The first byte of a notification, by which its kind is known, and the numbers in it.
package enum NotificationKind {
  /// A user has entries up to a position, which follows in 8 bytes, most significant first.
  package static let entries: UInt8 = 0

  /// Returns the 8 bytes of a number, most significant first.
  package static func bytes(_ number: Int64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }

  /// Reads a number of 8 bytes; nil if there are more or fewer.
  package static func number(_ bytes: ArraySlice<UInt8>) -> Int64? {
    guard bytes.count == 8 else { return nil }
    return bytes.reduce(0) { $0 << 8 | Int64($1) }
  }
}
