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
  ) -> SessionState {
    switch event {
    case .replied(.claimed(true)):
      let first = first
      return JoiningState(self).take(first, &context)
    case .replied(.claimed(false)): return .closed(with: 1008, &context)
    case .replied: return .closed(with: 1011, &context)
    case .timedOut: return .late(&context)
    case .evicted: return .closed(with: 1008, &context)
    // Another connection may use the same nonces, so nothing is sent.
    case .draining, .ended: return .closed
    case .opened, .received, .queued, .read: return .claiming(self)
    }
  }
}
