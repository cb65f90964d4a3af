internal import ApptimistProtocol

/// The login is right; the ephemeral key is being noted as used, and the position at which the stream
/// begins is being looked up.
struct StartingState: ~Copyable {
  var channel: SessionChannel
  let user: SessionUser

  init(
    _ joining: consuming JoiningState, _ user: SessionUser, _ login: PDU.Login,
    _ context: inout SessionContext
  ) {
    channel = joining.channel
    self.user = user
    context.ask(
      .start(
        user: user.key, ephemeralKey: context.setup.ephemeralKey, head: login.head,
        max: Int(login.max)))
  }

  consuming func handle(
    _ event: SessionEvent, _ context: inout SessionContext
  ) throws(SessionEnd) -> SessionState {
    switch event {
    case .replied(.claimed(false)): throw .close(1008)
    case .replied(.started(let position)):
      try channel.endIfWornOut(&context)
      // Not before: a connection that is played again must not close the user's oldest session. What is
      // queued until now is read with all others.
      context.actions.append(.join(user.login))
      return .established(EstablishedState(self, after: position, context.setup.limits))
    case .replied: throw .close(1011)
    case .evicted: throw .close(1008)
    case .draining(let uri?): throw channel.redirect(to: uri, &context)
    case .draining, .ended: return .closed
    case .opened, .received, .news, .read, .timedOut: return .starting(self)
    }
  }
}
