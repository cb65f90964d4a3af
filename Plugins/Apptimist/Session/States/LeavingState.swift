/// The connection is closed, or about to be, while posts that came before are still being queued.
struct LeavingState: ~Copyable {
  var user: SessionUser
  let posting: Posting

  consuming func handle(_ event: SessionEvent, _ context: inout SessionContext) -> SessionState {
    guard case .replied(let reply) = event else { return .leaving(self) }
    guard case .posted = reply else { return .closed }
    if let next = posting.next(&context) {
      return .leaving(LeavingState(user: user, posting: next))
    }
    // Nobody is told what becomes of it.
    if case .pdu(let postponed) = posting.postponed { _ = user.ask(for: postponed, &context) }
    return .closed
  }
}
