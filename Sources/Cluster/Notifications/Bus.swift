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
  ///
  /// - Parameter service: the service's name.
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
  /// Makes a bus.
  package init() {}
  /// Does nothing.
  package func publish(_ notices: [Notice], to recipients: Recipients) {}
  /// Returns a stream that has ended.
  package func events(of service: String) -> AsyncStream<BusEvent> { AsyncStream { $0.finish() } }
  /// Zeros.
  package var statistics: BusStatistics { BusStatistics() }
  /// Does nothing.
  package func close() async {}
}
