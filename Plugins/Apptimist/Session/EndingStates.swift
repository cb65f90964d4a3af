internal import ApptimistProtocol

/// The connection is closed, or about to be, while posts that came before are still being queued.
struct LeavingState: ~Copyable {
  /// The user of a session of version 1; what came behind the posts of version 2 isn't done: without an answer the
  /// device sends it again.
  var user: SessionUser?
  let posting: Posting

  consuming func handle(_ event: SessionEvent, _ context: inout SessionContext) -> SessionState {
    guard case .replied = event else { return .leaving(self) }
    guard posting.outcomes.value != nil else { return .closed }
    if let next = posting.next(&context) {
      return .leaving(LeavingState(user: user, posting: next))
    }
    // Nobody is told what becomes of it.
    if case .pdu(let postponed) = posting.postponed { _ = user?.ask(for: postponed, &context) }
    return .closed
  }
}

/// The device broke the protocol before it had logged in. Nothing is sent for a while, so that nobody learns anything by
/// trying; then a request of version 2 is answered, and the connection is closed.
struct RefusedState: ~Copyable {
  private var link: Version2Link?
  private let request: OpenRequest?
  private let error: ErrorCode

  /// Begins the silence, which no answer follows without a request.
  init(
    _ link: consuming Version2Link?, _ request: OpenRequest?, _ error: ErrorCode,
    _ context: inout SessionContext
  ) {
    self.link = link
    self.request = request
    self.error = error
    context.count(.refused)
    context.actions.append(.wait(context.setup.silence))
  }

  consuming func handle(
    _ event: SessionEvent, _ context: inout SessionContext
  ) throws(SessionEnd) -> SessionState {
    switch event {
    case .timedOut:
      if let request { link?.answer(request, error, &context) }
      throw .close(1008)
    case .evicted: throw .close(1008)
    case .draining(let uri?):
      // In place of the answer.
      if let end = link?.redirect(to: uri, &context) { throw end }
      return .closed
    case .draining, .ended: return .closed
    case .opened, .received, .replied, .news, .read: return .refused(self)
    }
  }
}
