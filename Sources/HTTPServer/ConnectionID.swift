/// The place of a connection in its loop's table, with a generation, so that a late reference finds nothing.
struct ConnectionID: Hashable, Sendable {
  var slot: UInt32
  var generation: UInt32
}
