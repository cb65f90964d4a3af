/// A device's session, of whichever version, without I/O: it takes events and returns actions.
///
/// It is an object, as its state is too large to be moved at each event.
package protocol SessionMachine: AnyObject {
  /// Takes an event.
  ///
  /// - Parameter event: the event; no message may be handed over while ``isWaiting``.
  /// - Returns: the actions, to be done in order.
  func handle(_ event: SessionEvent) -> SessionActions

  /// Decides whether to read the user's mailbox; to be asked whenever the socket can take more.
  ///
  /// - Returns: the position after which to read, or nil if nothing is to be read now.
  func nextRead() -> StreamPosition?

  /// True if nothing can be received until a reply comes.
  var isWaiting: Bool { get }

  /// True if the connection is closed, or about to be.
  var isOver: Bool { get }
}
