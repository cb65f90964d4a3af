/// The stage of a session, with all that exists in it and nothing else.
enum SessionState: ~Copyable {
  case open(OpenState)
  case claiming(ClaimingState)
  case joining(JoiningState)
  case starting(StartingState)
  case established(EstablishedState)
  case joiningVersion2(Version2Joining)
  case establishedVersion2(Version2Established)
  case refusedVersion2(Version2Refusal)
  case leaving(LeavingState)
  /// The device broke the protocol before it had logged in. Nothing is sent for a while, so that
  /// nobody learns anything by trying; then the connection is closed.
  case refused
  /// The connection is closed, or about to be, and nothing is left to be done.
  case closed

  mutating func handle(_ event: SessionEvent, _ context: inout SessionContext) {
    do throws(SessionEnd) {
      self =
        switch consume self {
        case .open(let state): try state.handle(event, &context)
        case .claiming(let state): try state.handle(event, &context)
        case .joining(let state): try state.handle(event, &context)
        case .starting(let state): try state.handle(event, &context)
        case .established(let state): state.handle(event, &context)
        case .joiningVersion2(let state): try state.handle(event, &context)
        case .establishedVersion2(let state): state.handle(event, &context)
        case .refusedVersion2(let state): try state.handle(event, &context)
        case .leaving(let state): state.handle(event, &context)
        case .refused: try Self.whileRefused(event)
        case .closed: .closed
        }
    } catch { self = .ended(error, &context) }
  }

  private static func whileRefused(_ event: SessionEvent) throws(SessionEnd) -> SessionState {
    switch event {
    case .timedOut, .evicted: throw .close(1008)
    case .draining, .ended: .closed
    case .opened, .received, .replied, .news, .read: .refused
    }
  }

  /// Ends a session that has nothing left to be done.
  private static func ended(_ end: SessionEnd, _ context: inout SessionContext) -> SessionState {
    switch end {
    case .close(let code):
      context.actions.append(.close(code))
      return .closed
    case .refuse:
      context.count(.refused)
      context.actions.append(.wait(context.setup.silence))
      return .refused
    }
  }

  private var wantsRead: Bool {
    switch self {
    case .established(let state): state.cursor.wantsRead
    case .establishedVersion2(let state): state.cursor.wantsRead
    default: false
    }
  }

  mutating func nextRead() -> StreamPosition? {
    guard wantsRead else { return nil }
    switch consume self {
    case .established(var state):
      let position = state.cursor.nextRead()
      self = .established(state)
      return position
    case .establishedVersion2(var state):
      let position = state.cursor.nextRead()
      self = .establishedVersion2(state)
      return position
    case let state:
      self = state
      return nil
    }
  }
}
