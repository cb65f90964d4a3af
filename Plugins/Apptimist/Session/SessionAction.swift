internal import Cryptography

/// What a session wants done, in this order.
enum SessionAction: Sendable {
  /// Send a WebSocket message.
  case send([UInt8])
  /// Find out an answer.
  case ask(Question)
  /// Tell the session what comes to its user.
  case join(EncryptionPublicKey)
  /// Tell the session when some time is over.
  case wait(Duration)
  /// Begin the close handshake.
  case close(UInt16)
}

/// What becomes of what devices send, for those who count it.
enum SessionEvent: Sendable {
  /// A PDU of a known type came.
  case received(type: UInt8)
  /// A PDU came whose type isn't known, or isn't for devices to send.
  case unknownType
  /// A PDU of the stream, or an answer, was sent.
  case sent
  /// It was a message.
  case delivered
  /// The session was refused.
  case refused
  /// The session was sent elsewhere.
  case redirected
}
