internal import Platform

/// The services of this node that hear events, each with a queue of limited length.
final class Subscribers: Sendable {
  /// The most events that wait for a service. What comes then is made up for by one that says that something is missed.
  private static let limit = 1024

  private struct State {
    var continuations: [(service: String, events: AsyncStream<BusEvent>.Continuation)] = []
    var isClosed = false
  }

  private let state = Lock(State())

  func events(of service: String) -> AsyncStream<BusEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: BusEvent.self, bufferingPolicy: .bufferingNewest(Self.limit))
    let isClosed = state.withLock { state in
      if !state.isClosed { state.continuations.append((service, continuation)) }
      return state.isClosed
    }
    if isClosed { continuation.finish() }
    return stream
  }

  /// Tells each service of the notices that are its own.
  func tell(_ notices: [Notice]) {
    for (service, notices) in Dictionary(grouping: notices, by: \.topic.service) {
      for subscriber in state.withLock(\.continuations) where subscriber.service == service {
        // Behind the ones that stay, so that it covers the ones that don't.
        if case .dropped = subscriber.events.yield(.notices(notices)) {
          subscriber.events.yield(.mayHaveMissed)
        }
      }
    }
  }

  /// Tells all services that they may have missed something.
  func tellOfLoss() {
    for subscriber in state.withLock(\.continuations) { subscriber.events.yield(.mayHaveMissed) }
  }

  func close() {
    let continuations = state.withLock { state in
      state.isClosed = true
      return exchange(&state.continuations, with: [])
    }
    for subscriber in continuations { subscriber.events.finish() }
  }
}
