/// A device's session of version 1.
///
/// It asks one query at a time and receives nothing while one is open, so that everything is done in
/// the order in which it came. Posts are the exception: while some are being queued, further ones are
/// gathered, to be asked together next, and anything else waits until all of them are queued.
package final class Session: SessionMachine {
  private var state: SessionState
  private var context: SessionContext

  /// Opens a session.
  ///
  /// - Parameter setup: the keys and limits of the session.
  /// - Returns: nil if no secret can be agreed on with the ephemeral key.
  package init?(_ setup: SessionSetup) {
    guard let channel = SessionChannel(setup) else { return nil }
    state = .open(OpenState(channel: channel))
    context = SessionContext(setup)
  }

  package func handle(_ event: SessionEvent) -> SessionActions {
    state.handle(event, &context)
    return context.takeActions()
  }

  package var isWaiting: Bool {
    switch state {
    case .claiming: true
    case .joining(let joining): joining.isWaiting
    case .starting: true
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
