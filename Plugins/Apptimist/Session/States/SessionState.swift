internal import ApptimistProtocol

/// The stage of a session, with all that exists in it and nothing else.
enum SessionState: ~Copyable {
  case joining(JoiningState)
  case established(EstablishedState)
  case joiningVersion2(Version2Joining)
  case establishedVersion2(Version2Established)
  case leaving(LeavingState)
  case refused(RefusedState)
  /// The connection is closed, or about to be, and nothing is left to be done.
  case closed

  mutating func handle(_ event: SessionEvent, _ context: inout SessionContext) {
    do throws(SessionEnd) {
      self =
        switch consume self {
        case .joining(let state): try state.handle(event, &context)
        case .established(let state): state.handle(event, &context)
        case .joiningVersion2(let state): try state.handle(event, &context)
        case .establishedVersion2(let state): state.handle(event, &context)
        case .leaving(let state): state.handle(event, &context)
        case .refused(let state): try state.handle(event, &context)
        case .closed: .closed
        }
    } catch { self = .ended(error, &context) }
  }

  /// Ends a session that has nothing left to be done.
  private static func ended(_ end: SessionEnd, _ context: inout SessionContext) -> SessionState {
    switch end {
    case .close(let code):
      context.actions.append(.close(code))
      return .closed
    case .refuse: return .refused(RefusedState(nil, nil, .done, &context))
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
