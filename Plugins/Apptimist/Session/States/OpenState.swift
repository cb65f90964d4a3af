/// Nothing has come yet.
struct OpenState: ~Copyable {
  var channel: SessionChannel

  consuming func handle(
    _ event: SessionEvent, _ context: inout SessionContext
  ) -> SessionState {
    switch event {
    case .opened:
      context.actions.append(.wait(context.setup.limits.loginTime))
      return .open(self)
    case .received(let message):
      do throws(SessionEnd) {
        let first = try channel.open(message, context.setup.limits)
        context.ask(.claim(context.setup.ephemeralKey))
        return .claiming(ClaimingState(self, first: first))
      } catch {
        return .ended(error, &context)
      }
    case .timedOut: return .late(&context)
    case .evicted: return .closed(with: 1008, &context)
    // Another connection may use the same nonces, so nothing is sent.
    case .draining, .ended: return .closed
    case .replied, .queued, .read: return .open(self)
    }
  }
}
