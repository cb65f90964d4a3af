/// The connection is closed, or about to be, while posts that came before are still being queued.
struct LeavingState: ~Copyable {
  /// The user of a session of version 1; what came behind the posts of version 2 isn't done: without an answer the
  /// device sends it again.
  var user: SessionUser?
  let posting: Posting

  consuming func handle(_ event: SessionEvent, _ context: inout SessionContext) -> SessionState {
    guard case .replied(let reply) = event else { return .leaving(self) }
    switch reply {
    case .posted, .outcomes: break
    default: return .closed
    }
    if let next = posting.next(&context) {
      return .leaving(LeavingState(user: user, posting: next))
    }
    // Nobody is told what becomes of it.
    if case .pdu(let postponed) = posting.postponed { _ = user?.ask(for: postponed, &context) }
    return .closed
  }
}
