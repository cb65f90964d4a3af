/// The device has the secret of its ephemeral key; whether it is this key's first user is being asked.
struct ClaimingState: ~Copyable {
  var channel: SessionChannel
  /// The first PDU, which waits for the claim.
  let first: ReceivedFrame

  init(_ open: consuming OpenState, first: ReceivedFrame) {
    channel = open.channel
    self.first = first
  }

  consuming func handle(
    _ event: SessionEvent, _ context: inout SessionContext
  ) throws(SessionEnd) -> SessionState {
    switch event {
    case .replied(.claimed(true)):
      let first = first
      return try JoiningState(self).take(first, &context)
    case .replied(.claimed(false)): throw .close(1008)
    case .replied: throw .close(1011)
    case .timedOut: throw context.late()
    case .evicted: throw .close(1008)
    // Another connection may use the same nonces, so nothing is sent.
    case .draining, .ended: return .closed
    case .opened, .received, .news, .read: return .claiming(self)
    }
  }
}
