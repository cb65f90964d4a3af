internal import Platform

/// The limit of what a node may write: it is open as long as no other node may declare this one dead.
///
/// A process that was stopped, or cut off, may come back when others have given its rows away or have changed the schema. It
/// then writes nothing until it is one of the nodes again.
final class Fence: Sendable {
  private struct State {
    /// The end of the time for which others count on this node; nil if it isn't one of the nodes.
    var end: ContinuousClock.Instant?
    var refusal: StoreError?

    var isOver: Bool { end.map { $0 < .now } ?? false }
  }

  /// The refusal that is over as soon as the node has said that it is there, which may be before anybody looks again.
  static let late = StoreError(.busy, "the other nodes haven't seen this one for too long")

  private let state = Lock(State())

  /// Opens the fence until a moment.
  func open(until end: ContinuousClock.Instant) { state.withLock { $0 = State(end: end) } }

  /// Opens a fence that was opened before until a later moment.
  func extend(to end: ContinuousClock.Instant) {
    state.withLock { if $0.end != nil { $0 = State(end: end) } }
  }

  /// Closes the fence until it is opened again.
  func close(_ refusal: StoreError) { state.withLock { $0.refusal = refusal } }

  /// The reason why nothing may be written now, or nil if there is none.
  var refusal: StoreError? {
    state.withLock { state in
      if let refusal = state.refusal { return refusal }
      guard state.isOver else { return nil }
      return Self.late
    }
  }
}
