package import Cryptography

/// A device's session, without I/O: it takes events and returns actions.
///
/// It asks one query at a time and receives nothing while one is open, so that everything is done in
/// the order in which it came. Posts are the exception: while some are being queued, further ones are
/// gathered, to be asked together next, and anything else waits until all of them are queued.
package struct Session: ~Copyable {
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

  /// Takes an event.
  ///
  /// - Parameter event: the event; no message may be handed over while ``isWaiting``.
  /// - Returns: the actions, to be done in order.
  package mutating func handle(_ event: SessionEvent) -> SessionActions {
    state.handle(event, &context)
    return context.takeActions()
  }

  /// Whether nothing can be received until a reply comes.
  package var isWaiting: Bool {
    switch state {
    case .claiming: true
    case .joining(let joining): joining.isWaiting
    case .starting: true
    case .established(let established): established.isWaiting
    default: false
    }
  }

  /// Whether the connection is closed, or about to be.
  package var isOver: Bool {
    switch state {
    case .leaving: true
    case .closed: true
    default: false
    }
  }

  /// The user who is logged in, or nil if there is none.
  package var user: EncryptionPublicKey? {
    switch state {
    case .starting(let starting): starting.user.key
    case .established(let established): established.user.key
    default: nil
    }
  }

  /// Decides whether to read the user's mailbox; to be asked whenever the socket can take more.
  ///
  /// - Returns: the position after which to read, or nil if nothing is to be read now.
  package mutating func nextRead() -> StreamPosition? { state.nextRead() }
}
