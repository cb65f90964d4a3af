public import Platform
package import Transport

/// A thread that runs closures one after the other.
@usableFromInline
package protocol DeliveryLoop: AnyObject, Sendable {
  /// Runs a closure soon, behind those that were given before.
  func execute(_ body: @escaping @Sendable () -> Void)
}

extension EventLoop: DeliveryLoop {}

/// A stream or session of a user that is notified of the user's entries.
@usableFromInline
package protocol HubMember: AnyObject, Sendable {
  /// The name of the member on its node.
  associatedtype ID: Hashable & Sendable
  associatedtype Position: EntryPosition
  associatedtype Content: Sendable
  associatedtype Loop: DeliveryLoop

  var id: ID { get }
  /// The loop on which the member is notified.
  var loop: Loop { get }

  /// Receives updates in the order in which they were published; called on the loop.
  func receive(_ updates: [EntryUpdate<Position, Content>])
}

/// The registry of the open streams or sessions of each user. It notifies them of what happens to the user's entries.
@usableFromInline
package final class Hub<User: Hashable & Sendable, Member: HubMember>: Sendable {
  /// What the hub's members are notified of.
  @usableFromInline package typealias Update = EntryUpdate<Member.Position, Member.Content>

  /// The most updates that wait for a member. What comes then is only a reason to read.
  @inlinable static var longestQueue: Int { 256 }

  /// A member with the updates that wait for it.
  @usableFromInline
  final class Seat {
    @usableFromInline let member: Member
    @usableFromInline var updates: [Update] = []
    /// True if the seat is among the pending ones of its loop.
    @usableFromInline var isListed = false

    init(_ member: Member) { self.member = member }
  }

  @usableFromInline
  struct State {
    /// The members of each user, the oldest first.
    @usableFromInline var seats: [User: [Seat]] = [:]
    var count = 0
    /// The members of each loop for which updates wait.
    @usableFromInline var pending: [ObjectIdentifier: [Seat]] = [:]
  }

  private let limit: Int
  @usableFromInline let state = Lock(State())

  /// Makes a hub without members.
  package init(limit: Int) { self.limit = limit }

  // MARK: - Members

  /// Adds a member, which the hub holds until it leaves.
  ///
  /// - Returns: the user's oldest member if there are too many with this one; it has left, and is to be closed.
  package func join(_ member: Member, of user: User) -> Member? {
    state.withLock { state in
      state.seats[user, default: []].append(Seat(member))
      guard state.seats[user]?.count ?? 0 > limit else {
        state.count += 1
        return nil
      }
      return state.seats[user]?.removeFirst().member
    }
  }

  /// Removes a member, or does nothing if it has left.
  package func leave(_ id: Member.ID, of user: User) {
    state.withLock { state in
      guard let index = state.seats[user]?.firstIndex(where: { $0.member.id == id }) else { return }
      state.seats[user]?.remove(at: index)
      state.count -= 1
      if state.seats[user]?.isEmpty == true { state.seats[user] = nil }
    }
  }

  /// Returns the members of a user, the oldest first.
  @inlinable
  package func members(of user: User) -> [Member] {
    state.withLock { state in state.seats[user]?.map { $0.member } ?? [] }
  }

  /// Returns whether a user has members.
  @inlinable
  package func hasMembers(of user: User) -> Bool { state.withLock { $0.seats[user] != nil } }

  /// Returns a member of a user, or nil if it isn't there.
  package func member(_ id: Member.ID, of user: User) -> Member? {
    state.withLock { state in state.seats[user]?.first { $0.member.id == id }?.member }
  }

  /// All members with their users.
  package var members: [(user: User, member: Member)] {
    state.withLock { state in
      state.seats.flatMap { user, seats in seats.map { (user, $0.member) } }
    }
  }

  /// The number of members.
  package var count: Int { state.withLock { $0.count } }

  // MARK: - Updates

  /// Notifies members of their users' entries, each on its loop, in the order given.
  ///
  /// The updates of one turn of a loop go out together, to one member after the other.
  ///
  /// - Parameters:
  ///   - updates: what happened, and to whose entries.
  ///   - origin: a member that isn't notified, as it has made the entries.
  @inlinable
  package func publish(_ updates: [(user: User, update: Update)], except origin: Member.ID? = nil) {
    let loops = state.withLock { state in
      var loops: [Member.Loop] = []
      for item in updates {
        for seat in state.seats[item.user] ?? [] where seat.member.id != origin {
          seat.updates.append(item.update)
          if seat.updates.count > Self.longestQueue { seat.updates = Self.shortened(seat.updates) }
          guard !seat.isListed else { continue }
          seat.isListed = true
          let loop = ObjectIdentifier(seat.member.loop)
          if state.pending[loop] == nil { loops.append(seat.member.loop) }
          state.pending[loop, default: []].append(seat)
        }
      }
      return loops
    }
    for loop in loops { loop.execute { [self] in deliverPending(on: ObjectIdentifier(loop)) } }
  }

  /// Replaces many updates by ones that have a member read all of them.
  @usableFromInline
  static func shortened(_ updates: [Update]) -> [Update] {
    var stored: Member.Position?
    var rumor: Member.Position?
    for update in updates {
      switch update {
      case .entry(let entry): stored = max(stored ?? entry.position, entry.position)
      case .stored(let last): stored = max(stored ?? last, last)
      case .rumor(let last): rumor = max(rumor ?? last, last)
      }
    }
    return [stored.map(Update.stored(upTo:)), rumor.map(Update.rumor(upTo:))].compactMap { $0 }
  }

  @inlinable
  func deliverPending(on loop: ObjectIdentifier) {
    let deliveries = state.withLock { state in
      (state.pending.removeValue(forKey: loop) ?? []).map { seat in
        seat.isListed = false
        let updates = seat.updates
        seat.updates = []
        return (seat.member, updates)
      }
    }
    for (member, updates) in deliveries { member.receive(updates) }
  }
}
