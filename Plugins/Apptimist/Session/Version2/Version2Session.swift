internal import ApptimistProtocol

/// A device's session of version 2.
package final class Version2Session: SessionMachine {
  private var state: Version2State
  private var context: SessionContext

  /// Opens a session.
  ///
  /// - Parameters:
  ///   - setup: the keys and limits of the session.
  ///   - version2: what version 2 needs beside them.
  /// - Returns: nil if no secret can be agreed on with the device's key.
  package init?(_ setup: SessionSetup, _ version2: Version2Setup) {
    guard let link = Version2Link(setup, version2) else { return nil }
    state = .joining(Version2Joining(link: link, version2))
    context = SessionContext(setup)
  }

  package func handle(_ event: SessionEvent) -> SessionActions {
    state.handle(event, &context)
    return context.takeActions()
  }

  package var isWaiting: Bool {
    switch state {
    case .joining(let joining): joining.isWaiting
    case .established(let established): established.isWaiting
    default: false
    }
  }

  package var isOver: Bool {
    switch state {
    case .leaving: true
    case .closed: true
    default: false
    }
  }

  package func nextRead() -> StreamPosition? { state.nextRead() }
}

/// The stage of a session of version 2, with all that exists in it and nothing else.
enum Version2State: ~Copyable {
  case joining(Version2Joining)
  case established(Version2Established)
  /// The connection is closed, or about to be, while posts that came before are still being queued.
  case leaving(Posting)
  /// The device is refused. Nothing is sent for a while, so that nobody learns anything by trying; then it gets the
  /// answer, if there is one, and the connection is closed.
  case refused(Version2Refusal)
  case closed

  mutating func handle(_ event: SessionEvent, _ context: inout SessionContext) {
    switch consume self {
    case .joining(let state): self = state.handle(event, &context)
    case .established(let state): self = state.handle(event, &context)
    case .leaving(let posting): self = Self.left(event, posting, &context)
    case .refused(let refusal): self = refusal.handle(event, &context)
    case .closed: self = .closed
    }
  }

  private static func left(
    _ event: SessionEvent, _ posting: Posting, _ context: inout SessionContext
  ) -> Version2State {
    guard case .replied(let reply) = event else { return .leaving(posting) }
    // What came behind the posts isn't done: without an answer the device sends it again.
    guard case .outcomes = reply, let next = posting.next(&context) else { return .closed }
    return .leaving(next)
  }

  mutating func nextRead() -> StreamPosition? {
    switch consume self {
    case .established(var state):
      let position = state.cursor.nextRead()
      self = .established(state)
      return position
    case let state:
      self = state
      return nil
    }
  }
}

/// A device that is refused before it has logged in, with the answer that it gets after the silence.
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
    self.request = request
    self.error = error
    context.count(.refused)
    context.actions.append(.wait(context.setup.silence))
  }

  consuming func handle(_ event: SessionEvent, _ context: inout SessionContext) -> Version2State {
    switch event {
    case .timedOut:
      if let request { link.answer(request, error, &context) }
      context.actions.append(.close(1008))
      return .closed
    case .evicted:
      context.actions.append(.close(1008))
      return .closed
    case .draining(let uri?):
      // In place of the answer.
      _ = link.redirect(to: uri, &context)
      context.actions.append(.close(1001))
      return .closed
    case .draining, .ended: return .closed
    case .opened, .received, .replied, .news, .read: return .refused(self)
    }
  }
}
