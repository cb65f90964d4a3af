/// An end of the session that something which came or was sent brings about.
enum SessionEnd: Error {
  /// The connection is closed with a code.
  case close(UInt16)
  /// The device broke the protocol.
  case refuse
}
