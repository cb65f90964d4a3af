/// The place of a connection in its loop's table, with a generation, so that a late reference finds nothing.
package struct ConnectionID: Hashable, Sendable {
  let slot: UInt32
  let generation: UInt32
}
