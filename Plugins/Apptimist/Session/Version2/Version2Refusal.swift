internal import ApptimistProtocol

/// The device is refused before it has logged in. Nothing is sent for a while, so that nobody learns anything by trying;
/// then it gets the answer, if there is one, and the connection is closed.
struct Version2Refusal: ~Copyable {
  private var link: Version2Link
  private let request: OpenRequest?
  private let error: ErrorCode

  /// Begins the silence, which no answer follows without a request.
  init(
    _ link: consuming Version2Link, _ request: OpenRequest?, _ error: ErrorCode,
    _ context: inout SessionContext
  ) {
    self.link = link
    (self.request, self.error) = (request, error)
    context.count(.refused)
    context.actions.append(.wait(context.setup.silence))
  }

  consuming func handle(
    _ event: SessionEvent, _ context: inout SessionContext
  ) throws(SessionEnd) -> SessionState {
    switch event {
    case .timedOut:
      if let request { link.answer(request, error, &context) }
      throw .close(1008)
    case .evicted: throw .close(1008)
    // In place of the answer.
    case .draining(let uri?): throw link.redirect(to: uri, &context)
    case .draining, .ended: return .closed
    case .opened, .received, .replied, .news, .read: return .refusedVersion2(self)
    }
  }
}
