/// The connections of one loop, by their identifiers.
struct ConnectionTable {
  private var slots: [Connection?] = []
  private var freeSlots: [UInt32] = []
  private var generation: UInt32 = 0
  /// The number of connections.
  private(set) var count = 0

  /// Gives a connection a place.
  ///
  /// - Parameter make: makes the connection, or returns nil if it can't be made.
  mutating func insert(_ make: (ConnectionID) -> Connection?) -> Connection? {
    generation &+= 1
    let slot = freeSlots.popLast() ?? UInt32(slots.count)
    if slot == slots.count { slots.append(nil) }
    guard let connection = make(ConnectionID(slot: slot, generation: generation)) else {
      freeSlots.append(slot)
      return nil
    }
    slots[Int(slot)] = connection
    count += 1
    return connection
  }

  subscript(id: ConnectionID) -> Connection? {
    guard Int(id.slot) < slots.count, let connection = slots[Int(id.slot)], connection.id == id
    else { return nil }
    return connection
  }

  mutating func remove(_ id: ConnectionID) {
    guard self[id] != nil else { return }
    slots[Int(id.slot)] = nil
    freeSlots.append(id.slot)
    count -= 1
  }

  /// All connections, in no particular order.
  var all: some Sequence<Connection> { slots.lazy.compactMap { $0 } }
}
