internal import Cryptography
internal import Synchronization

/// The places of an outbox for pushes that are leased in the transaction that queues them: while the outbox has nothing else to
/// do, it would lease them next anyway, and a push needs one transaction less then.
///
/// Such a push is handed to the outbox once it is committed. If it isn't, its lease runs out as any other's.
final class DirectLeases: Sendable {
  /// The random name that the outbox leases pushes under.
  let owner: [UInt8]
  private let places = Atomic<Int>(0)

  init(owner: [UInt8] = SecureRandom.bytes(16)) { self.owner = owner }

  /// Says how many pushes may be leased from now on.
  func offer(_ count: Int) { places.store(max(0, count), ordering: .relaxed) }

  /// True if a push may be leased.
  var hasPlaces: Bool { places.load(ordering: .relaxed) > 0 }

  /// Claims a place, if there is one. It isn't released: the outbox says anew how many there are.
  func claim() -> Bool {
    guard hasPlaces else { return false }
    return places.wrappingSubtract(1, ordering: .relaxed).newValue >= 0
  }
}
