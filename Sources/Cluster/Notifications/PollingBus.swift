/// Nodes that tell each other nothing: each looks into the store by itself, time and again.
package final class PollingBus: Bus {
  private let subscribers = Subscribers()
  private let timer: Task<Void, Never>

  /// Makes a bus.
  ///
  /// - Parameter interval: the time between two looks.
  package init(every interval: Duration) {
    timer = Task { [subscribers] in
      while (try? await Task.sleep(for: interval)) != nil { subscribers.tellOfLoss() }
    }
  }

  /// Does nothing.
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
