package import Observability
package import Storage

internal import Platform

/// Carries notices between nodes that share a database.
///
/// At least once in the interval of polling it says ``BusEvent/mayHaveMissed``. So what another node has changed is seen
/// after that time at the latest, whatever becomes of the notices.
package protocol Bus: Sendable {
  /// Tells the other nodes. It neither waits nor fails: what can't be told is dropped.
  ///
  /// - Parameters:
  ///   - notices: news of changes that are in the store already.
  ///   - recipients: the nodes that are told.
  func publish(_ notices: [Notice], to recipients: Recipients)

  /// Returns what other nodes tell a service from now on, until the bus is closed.
  func events(of service: String) -> AsyncStream<BusEvent>

  /// The counts of the bus's work so far.
  var statistics: BusStatistics { get }

  /// Ends all events, after the published notices were sent as far as possible.
  func close() async
}

extension Bus {
  /// Tells all other nodes that live.
  package func publish(_ notices: [Notice]) { publish(notices, to: .all) }
}

/// The statistics of a bus since it was made.
package struct BusStatistics: Sendable, Equatable {
  /// The number of notices that other nodes were told, counted once for each node.
  package internal(set) var told = 0
  /// The number of notices of other nodes.
  package internal(set) var heard = 0
  /// The number of notices that were given up, as too many waited or the bus was away.
  package internal(set) var dropped = 0
  /// The number of messages on this node's channel that no node has sent to it, or that were sent before.
  package internal(set) var refused = 0
  /// The number of connections that were lost.
  package internal(set) var interruptions = 0
}

/// The bus of a node that is alone: nobody hears, and nothing is heard.
package struct NoBus: Bus {
  package init() {}
  package func publish(_ notices: [Notice], to recipients: Recipients) {}
  /// Returns a stream that has ended.
  package func events(of service: String) -> AsyncStream<BusEvent> { AsyncStream { $0.finish() } }
  /// Zeros.
  package var statistics: BusStatistics { BusStatistics() }
  package func close() async {}
}

/// Nodes that tell each other nothing: each looks into the store by itself, time and again.
package final class PollingBus: Bus {
  private let subscribers = Subscribers()
  private let timer: Task<Void, Never>

  package init(every interval: Duration) {
    timer = Task { [subscribers] in
      while (try? await Task.sleep(for: interval)) != nil { subscribers.tellOfLoss() }
    }
  }

  package func publish(_ notices: [Notice], to recipients: Recipients) {}

  /// Returns a stream that says that something may have been missed, in each interval. See ``Bus``.
  package func events(of service: String) -> AsyncStream<BusEvent> {
    subscribers.events(of: service)
  }

  /// Zeros.
  package var statistics: BusStatistics { BusStatistics() }

  /// Ends all events. See ``Bus``.
  package func close() async {
    timer.cancel()
    subscribers.close()
  }
}

/// Notices by PostgreSQL's LISTEN and NOTIFY, to a channel of each node's own.
///
/// Two connections of its own, each with a thread, hear and tell: a NOTIFY in the transaction that it is about would make all
/// commits of the server wait for each other.
package final class PostgreSQLBus: Bus {
  private let subscribers = Subscribers()
  private let outgoing = OutgoingNotices()
  private let threads: [WorkerThread]

  /// Makes a bus, which connects by itself, again and again if need be.
  ///
  /// - Parameters:
  ///   - seal: names this node, and seals what nodes tell each other.
  ///   - interval: the time after which services are told that they may have missed something.
  /// - Throws: `SystemError` if the system has no room for a thread.
  package init(
    _ address: PostgreSQLAddress, seal: NoticeSeal, poll interval: Duration, log: Log
  ) throws {
    let listener = NoticeListener(
      address: address, seal: seal, interval: interval, subscribers: subscribers,
      outgoing: outgoing, log: log)
    let notifier = NoticeNotifier(address: address, seal: seal, outgoing: outgoing)
    threads = [
      try WorkerThread(named: "awd-listener") { listener.run() },
      try WorkerThread(named: "awd-notifier") { notifier.run() },
    ]
  }

  /// Tells the other nodes, soon. See ``Bus``.
  package func publish(_ notices: [Notice], to recipients: Recipients) {
    outgoing.append(notices, to: recipients)
  }

  /// Returns what other nodes tell a service. See ``Bus``.
  package func events(of service: String) -> AsyncStream<BusEvent> {
    subscribers.events(of: service)
  }

  /// The counts of the bus's work so far.
  package var statistics: BusStatistics { outgoing.statistics }

  /// Ends all events. See ``Bus``.
  package func close() async {
    outgoing.close()
    subscribers.close()
    // In a task of its own: the threads may wait for the server.
    let threads = threads
    await Task.detached { for thread in threads { thread.join() } }.value
  }
}

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
