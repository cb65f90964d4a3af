package import Observability
package import Storage

internal import Platform

/// Carries notifications between nodes that share a database.
///
/// At least once in the interval of polling it says ``BusEvent/mayHaveMissed``. So what another node has changed is seen
/// after that time at the latest, whatever becomes of the notifications.
package protocol Bus: Sendable {
  /// Notifies the other nodes. It neither waits nor fails: what can't be sent is dropped.
  ///
  /// - Parameters:
  ///   - notifications: changes that are in the store already.
  ///   - recipients: the nodes that are notified.
  func publish(_ notifications: [NodeNotification], to recipients: Recipients)

  /// Returns what other nodes send to a service from now on, until the bus is closed.
  func events(of service: String) -> AsyncStream<BusEvent>

  /// The counts of the bus's work so far.
  var statistics: BusStatistics { get }

  /// Ends all events, after the published notifications were sent as far as possible.
  func close() async
}

extension Bus {
  /// Notifies all other nodes that live.
  package func publish(_ notifications: [NodeNotification]) { publish(notifications, to: .all) }
}

/// The statistics of a bus since it was made.
package struct BusStatistics: Sendable, Equatable {
  /// The number of notifications that were sent to other nodes, counted once for each node.
  package internal(set) var sent = 0
  /// The number of notifications of other nodes.
  package internal(set) var received = 0
  /// The number of notifications that were dropped, as too many waited or the bus was away.
  package internal(set) var dropped = 0
  /// The number of messages on this node's channel that no node has sent to it, or that were sent before.
  package internal(set) var refused = 0
  /// The number of connections that were lost.
  package internal(set) var interruptions = 0
}

/// The bus of a node that is alone.
package struct NoBus: Bus {
  package init() {}
  package func publish(_ notifications: [NodeNotification], to recipients: Recipients) {}
  /// Returns a stream that has ended.
  package func events(of service: String) -> AsyncStream<BusEvent> { AsyncStream { $0.finish() } }
  /// Zeros.
  package var statistics: BusStatistics { BusStatistics() }
  package func close() async {}
}

/// The bus of nodes that don't notify each other: each polls the store at an interval.
package final class PollingBus: Bus {
  private let subscribers = Subscribers()
  private let timer: Task<Void, Never>

  package init(every interval: Duration) {
    timer = Task { [subscribers] in
      while (try? await Task.sleep(for: interval)) != nil { subscribers.notifyGap() }
    }
  }

  package func publish(_ notifications: [NodeNotification], to recipients: Recipients) {}

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

/// Notifications by PostgreSQL's LISTEN and NOTIFY, to a channel of each node's own.
///
/// One connection with a thread of its own receives, another one sends: a NOTIFY in the transaction that it is about would make all
/// commits of the server wait for each other.
package final class PostgreSQLBus: Bus {
  private let subscribers = Subscribers()
  private let outgoing = OutgoingNotifications()
  private let threads: [WorkerThread]

  /// Makes a bus, which connects by itself, again and again if need be.
  ///
  /// - Parameters:
  ///   - seal: names this node, and seals what nodes send to each other.
  ///   - interval: the time after which services are to poll.
  /// - Throws: `SystemError` if the system has no room for a thread.
  package init(
    _ address: PostgreSQLAddress, seal: NotificationSeal, poll interval: Duration, log: Log
  ) throws {
    let listener = NotificationListener(
      address: address, seal: seal, interval: interval, subscribers: subscribers,
      outgoing: outgoing, log: log)
    let notifier = NotificationSender(address: address, seal: seal, outgoing: outgoing)
    threads = [
      try WorkerThread(named: "awd-listener") { listener.run() },
      try WorkerThread(named: "awd-notifier") { notifier.run() },
    ]
  }

  /// Notifies the other nodes, soon. See ``Bus``.
  package func publish(_ notifications: [NodeNotification], to recipients: Recipients) {
    outgoing.append(notifications, to: recipients)
  }

  /// Returns what other nodes send to a service. See ``Bus``.
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

/// The services of this node that receive events, each with a queue of limited length.
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

  /// Passes each service the notifications that are its own.
  func publish(_ notifications: [NodeNotification]) {
    for (service, notifications) in Dictionary(grouping: notifications, by: \.topic.service) {
      for subscriber in state.withLock(\.continuations) where subscriber.service == service {
        // Behind the ones that stay, so that it covers the ones that don't.
        if case .dropped = subscriber.events.yield(.notifications(notifications)) {
          subscriber.events.yield(.mayHaveMissed)
        }
      }
    }
  }

  /// Notifies all services that they may have missed something.
  func notifyGap() {
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
