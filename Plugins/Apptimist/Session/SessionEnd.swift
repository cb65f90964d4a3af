/// The end of a session, as an event brings it about.
enum SessionEnd: Error {
  /// The connection is closed with a code.
  case close(UInt16)
  /// The device broke the protocol.
  case refuse
}
