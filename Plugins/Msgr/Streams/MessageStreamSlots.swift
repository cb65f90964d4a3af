internal import Formats
internal import Budgets
internal import HTTPServer
internal import Platform

/// The places for streams. Each client's network has a share, of which each account there has a part.
///
/// When all are taken, the network that has most loses its idlest stream to a newcomer.
final class MessageStreamSlots: Sendable {
  /// The numbers of streams that may be open.
  struct Limits: Sendable {
    /// The streams of all clients.
    var all = 10_000
    /// The streams of one client's network; further ones are refused.
    var ofNetwork = 256
    /// The streams of one account; with one more, its oldest one is closed.
    var ofAccount = 64
  }

  /// The seconds after which a client that was refused may try again.
  private static let retry = 60

  private let limits: Limits
  private let budget: Budget<ClientAccount>

  /// Makes places that are all free.
  init(_ limits: Limits) {
    self.limits = limits
    budget = Budget(capacity: limits.all, share: limits.ofNetwork, loss: .idlest)
  }

  /// The figures of the places.
  var statistics: BudgetStatistics { budget.statistics }

  /// Takes a place.
  ///
  /// - Parameters:
  ///   - network: the client's network; nil, which is a Unix socket, has no share and never loses.
  ///   - account: the account that the stream is of.
  /// - Throws: `.tooMany` if the network has its share, `.tooManyStreams` if no other network has more.
  func acquire(
    for network: ClientNetwork?, _ account: UserName
  ) throws(RequestRefusal) -> MessageStreamSlot {
    let owner = network.map { ClientAccount($0, account) }
    if let place = MessageStreamSlot(in: budget, for: owner) { return place }
    if let owner, budget.heldOfShare(of: owner) >= limits.ofNetwork {
      throw .tooMany(retryAfter: Self.retry)
    }
    throw .tooManyStreams(retryAfter: Self.retry)
  }
}

/// A stream's place, from the handshake until the stream is closed.
final class MessageStreamSlot: Sendable {
  private let occupant: Occupant
  private let holding: Holding<ClientAccount>

  /// Takes a place, or returns nil if there is none.
  fileprivate init?(in budget: Budget<ClientAccount>, for owner: ClientAccount?) {
    let occupant = Occupant()
    self.occupant = occupant
    holding = Holding(of: budget, for: owner) { occupant.expel() }
    guard holding.set(to: 1) else { return nil }
  }

  /// Gives the place to a session, which is closed if the place is lost.
  func occupy(_ session: WebSocketSession) { occupant.enter(session) }

  /// Records that the peer has shown a sign of life.
  ///
  /// - Parameter moment: the moment in milliseconds, on the clock of the event loops.
  func used(at moment: Int64) { holding.used(at: moment) }

  /// Gives the place back.
  func leave() { _ = holding.set(to: 0) }
}

/// The session at a place, which may be lost before the session is there.
private final class Occupant: Sendable {
  private struct State {
    var session: WebSocketSession?
    var isExpelled = false
  }

  private let state = Lock(State())

  func enter(_ session: WebSocketSession) {
    let isExpelled = state.withLock { state in
      state.session = session
      return state.isExpelled
    }
    if isExpelled { Self.close(session) }
  }

  func expel() {
    let session = state.withLock { state in
      state.isExpelled = true
      return state.session
    }
    if let session { Self.close(session) }
  }

  private static func close(_ session: WebSocketSession) {
    session.close(1013, reason: "other clients need the place")
  }
}
