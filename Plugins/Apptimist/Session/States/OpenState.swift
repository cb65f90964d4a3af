/// Nothing has come yet.
struct OpenState: ~Copyable {
  var channel: SessionChannel

  consuming func handle(
    _ event: SessionEvent, _ context: inout SessionContext
  ) throws(SessionEnd) -> SessionState {
    switch event {
    case .opened:
      context.actions.append(.wait(context.setup.limits.loginTime))
      return .open(self)
    case .received(let message):
      let first = try channel.open(message, context.setup.limits)
      context.ask(.claim(context.setup.ephemeralKey))
      return .claiming(ClaimingState(self, first: first))
    case .timedOut: throw context.late()
    case .evicted: throw .close(1008)
    // Another connection may use the same nonces, so nothing is sent.
    case .draining, .ended: return .closed
    case .replied, .news, .read: return .open(self)
    }
  }
}
