/// The number of a session in this process.
struct SessionID: Hashable, Sendable {
  let number: UInt64
}
