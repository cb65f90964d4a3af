internal import ApptimistProtocol

/// The user is logged in; the position at which the stream begins is being looked up.
struct StartingState: ~Copyable {
  var channel: SessionChannel
  let user: SessionUser

  init(
    _ joining: consuming JoiningState, _ user: SessionUser, _ login: PDU.Login,
    _ context: inout SessionContext
  ) {
    channel = joining.channel
    self.user = user
    context.actions.append(.join(user.key))
    context.ask(.start(user: user.key, head: login.head, max: Int(login.max)))
  }

  consuming func handle(
    _ event: SessionEvent, _ context: inout SessionContext
  ) throws(SessionEnd) -> SessionState {
    switch event {
    case .replied(.started(let position)):
      try channel.endIfWornOut(&context)
      return .established(EstablishedState(self, after: position, context.setup.limits))
    case .replied: throw .close(1011)
    case .evicted: throw .close(1008)
    case .draining(let uri?): throw channel.redirect(to: uri, &context)
    case .draining, .ended: return .closed
    // The entries that are queued meanwhile are read with all others.
    case .opened, .received, .queued, .read, .timedOut: return .starting(self)
    }
  }
}
