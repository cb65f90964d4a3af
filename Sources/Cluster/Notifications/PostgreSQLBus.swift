package import Observability
package import Storage
internal import Platform

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
  ///   - address: the database.
  ///   - seal: names this node, and seals what nodes tell each other.
  ///   - interval: the time after which services are told that they may have missed something.
  ///   - log: takes notes of lost connections.
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
