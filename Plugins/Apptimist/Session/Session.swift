internal import ApptimistProtocol

/// A device's session, of whichever version, without I/O: it takes events and returns actions.
///
/// It is an object, as its state is too large to be moved at each event.
///
/// One of version 1 asks one query at a time and receives nothing while one is open, so that everything is done in
/// the order in which it came. Posts are the exception: while some are being queued, further ones are
/// gathered, to be asked together next, and anything else waits until all of them are queued.
final class Session {
  /// True if the session is one of version 1.
  let isVersion1: Bool
  private var state: SessionState
  private var context: SessionContext

  /// Opens a session.
  ///
  /// - Parameters:
  ///   - setup: the keys and limits of the session.
  ///   - version2: what version 2 needs beside them, or nil for version 1.
  /// - Returns: nil if no secret can be agreed on with the device's key.
  init?(_ setup: SessionSetup, _ version2: Version2Setup? = nil) {
    isVersion1 = version2 == nil
    context = SessionContext(setup)
    if let version2 {
      guard let link = Version2Link(setup, version2) else { return nil }
      state = .joiningVersion2(Version2Joining(link: link, version2))
    } else {
      guard let channel = SessionChannel(setup) else { return nil }
      state = .joining(JoiningState(channel))
    }
  }

  /// Takes an event.
  ///
  /// - Parameter event: the event; no message may be handed over while ``isWaiting``.
  /// - Returns: the actions, to be done in order.
  func handle(_ event: SessionEvent) -> SessionActions {
    state.handle(event, &context)
    return context.takeActions()
  }

  /// True if nothing can be received until a reply comes.
  var isWaiting: Bool {
    switch state {
    case .joining(let joining): joining.isWaiting
    case .established(let established): established.isWaiting
    case .joiningVersion2(let joining): joining.isWaiting
    case .establishedVersion2(let established): established.isWaiting
    default: false
    }
  }

  /// True if the connection is closed, or about to be.
  var isOver: Bool {
    switch state {
    case .leaving: true
    case .closed: true
    default: false
    }
  }

  /// Decides whether to read the user's mailbox; to be asked whenever the socket can take more.
  ///
  /// - Returns: the position after which to read, or nil if nothing is to be read now.
  func nextRead() -> StreamPosition? { state.nextRead() }
}
