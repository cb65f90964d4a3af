/// The things that all states of a session share: its setup, and the actions of the present event.
struct SessionContext {
  let setup: SessionSetup
  var actions = SessionActions()

  init(_ setup: SessionSetup) { self.setup = setup }

  /// Asks a query.
  mutating func ask(_ query: Query) { actions.append(.ask(query)) }

  /// Counts something.
  mutating func count(_ counted: SessionAction.Counted) { actions.append(.count(counted)) }

  /// Counts a session as refused whose device has not logged in within the time that it had.
  ///
  /// - Returns: the end of the session.
  mutating func late() -> SessionEnd {
    count(.refused)
    return .close(1008)
  }

  mutating func takeActions() -> SessionActions {
    var taken = SessionActions()
    swap(&taken, &actions)
    return taken
  }
}
