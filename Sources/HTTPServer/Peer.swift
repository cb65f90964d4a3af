internal import Budgets
internal import Formats
internal import HTTPProtocol
internal import Transport

/// The other end of a connection, with the place and memory that are charged to it.
///
/// It lives as long as the connection has its descriptor, also while the last output waits to be read. It is touched on
/// the connection's loop only.
final class Peer {
  /// True if it is a proxy whose word on the origin of requests counts.
  let isProxy: Bool
  private let address: String
  /// The network of its address; nil for a Unix socket.
  let network: ClientNetwork?
  private let isSecure: Bool
  private let core: ServerCore
  private let loop: EventLoop
  private let id: ConnectionID
  private var place: Holding<ClientNetwork>
  private var charge: MemoryCharge?
  /// The owner of the memory that the connection takes; nil for nobody, as for a Unix socket.
  private(set) var owner: ClientNetwork?

  /// - Returns: nil if there is no place for the connection.
  init?(of connection: Connection, _ core: ServerCore) {
    let peer = IPAddress(connection.peer)
    address = connection.peer
    network = peer.map(ClientNetwork.init(of:))
    isProxy = core.responder.isProxy(peer)
    isSecure = connection.tls != nil
    self.core = core
    loop = connection.loop
    id = connection.id
    let owner = isProxy ? nil : network
    self.owner = owner
    place = Peer.place(for: owner, of: loop, id, core)
    guard place.set(to: 1) else { return nil }
    used()
  }

  private static func place(
    for owner: ClientNetwork?, of loop: EventLoop, _ id: ConnectionID, _ core: ServerCore
  ) -> Holding<ClientNetwork> {
    Holding(of: core.places, for: owner) {
      loop.execute { loop.connection(id)?.abort() }
    }
  }

  /// Records that the peer has sent something.
  func used() { place.used(at: loop.now) }

  /// Returns the origin of a request, as proxies tell it.
  func origin(of head: RequestHead, id: UInt64) -> RequestOrigin {
    let origin = RequestOrigin(peer: address, client: network, isSecure: isSecure, id: id)
    return isProxy ? core.responder.origin(of: head, from: origin) : origin
  }

  /// Charges the connection to the client of a proxy for good, as all of it belongs to one client now.
  ///
  /// - Returns: whether there is a place.
  func belong(to client: ClientNetwork?) -> Bool {
    guard isProxy, let client else { return true }
    charge(to: client)
    let place = Peer.place(for: client, of: loop, id, core)
    guard place.set(to: 1) else { return false }
    self.place = place
    used()
    return true
  }

  // MARK: - Memory

  /// Charges what the connection takes from now on to another owner.
  func charge(to owner: ClientNetwork?) {
    guard owner != self.owner else { return }
    self.owner = owner
    charge = nil
  }

  /// Charges the memory that the connection takes now.
  ///
  /// - Returns: whether it was granted.
  func hold(_ amount: Int) -> Bool {
    guard amount > 0, charge != nil || amount >= MemoryCharge.step else {
      charge = nil
      return true
    }
    let charge = self.charge ?? makeCharge(to: owner)
    self.charge = charge
    return charge.set(to: amount)
  }

  /// The charge of the moment, for a task that uses the memory.
  var presentCharge: MemoryCharge? { charge }

  /// The refusal of the last request.
  var memoryRefusal: RequestFailure { core.refusal(of: charge) }

  /// Makes a further charge, such as for one of several clients of a proxy's connection.
  func makeCharge(to owner: ClientNetwork?) -> MemoryCharge {
    MemoryCharge(to: owner, of: core.memory) { [loop, id] in
      loop.execute {
        guard let connection = loop.connection(id) else { return }
        if let user = connection.protocolHandler as? any ServedProtocol {
          user.lostMemory(of: owner)
        } else {
          connection.abort()
        }
      }
    }
  }
}

/// Memory that is charged to an owner, in steps, so that little of it costs no lock.
final class MemoryCharge: @unchecked Sendable {
  // Safe to share: the loop of its connection changes it; a task that outlives the connection only holds it.

  /// The amount below which nothing is charged, in bytes.
  static let step = 16 << 10

  let owner: ClientNetwork?
  private let holding: Holding<ClientNetwork>
  private var charged = 0
  /// The amount that is in use, in bytes.
  private(set) var amount = 0
  /// The number of bytes that were refused last.
  private(set) var missing = 0

  /// - Parameter onLoss: called on any thread when the memory was given to somebody else.
  init(
    to owner: ClientNetwork?, of budget: Budget<ClientNetwork>,
    onLoss: @escaping @Sendable () -> Void
  ) {
    self.owner = owner
    holding = Holding(of: budget, for: owner, onLoss: onLoss)
  }

  /// Changes the amount.
  ///
  /// - Returns: whether it was granted; if not, the memory is to be given back.
  func set(to amount: Int) -> Bool {
    self.amount = amount
    let steps = amount / MemoryCharge.step * MemoryCharge.step
    // What is given back a little later can be taken again without a lock.
    guard steps > charged || 2 * steps <= charged, steps != charged else { return true }
    guard holding.set(to: steps) else {
      missing = steps - charged
      return false
    }
    charged = steps
    return true
  }

  /// Changes the amount by a difference.
  func add(_ difference: Int) -> Bool { set(to: amount + difference) }
}
