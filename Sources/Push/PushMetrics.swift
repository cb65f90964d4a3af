internal import Observability
internal import Platform

/// Counts the outcomes of pushes.
final class PushMetrics: Sendable {
  /// The time for which the state of the outbox counts as known.
  private static let stateAge = Duration.seconds(5)

  /// The numbers of one provider.
  private struct Provider {
    let responses: CounterTable
    let failures: [String: Counter]
    let latency: Histogram
  }

  private let metrics: Metrics
  private let providers: [String: Provider]
  private let clock: @Sendable () -> Timestamp
  private let queue = Lock<(states: [PushStore.State], readAt: Timestamp?)>(([], nil))

  /// Registers the metrics of providers.
  init(_ metrics: Metrics, clock: @escaping @Sendable () -> Timestamp) {
    self.metrics = metrics
    self.clock = clock
    providers = PushKind.allCases.map(\.provider).reduce(into: [:]) { providers, provider in
      let labels: Metrics.Labels = ["provider": provider]
      providers[provider] = Provider(
        responses: metrics.counters(
          "awd_push_answers_total", "Responses of push services", labels, by: "status", 100...599),
        failures: ["disconnected", "unreachable"].reduce(into: [:]) { failures, cause in
          failures[cause] = metrics.counter(
            "awd_push_failures_total", "Push attempts without a response",
            ["provider": provider, "cause": cause])
        },
        latency: metrics.histogram("awd_push_seconds", "Response time of push services", labels))
    }
  }

  /// Registers the metrics of a service's pushes.
  func add(_ service: String) {
    for cause in PushDrop.allCases { _ = dropped(of: service, for: cause.rawValue) }
    let labels: Metrics.Labels = ["service": service]
    metrics.gauge("awd_push_outbox", "Pushes waiting or under way", labels) { [self] in
      Double(states(of: service).reduce(0) { $0 + $1.length })
    }
    for provider in providers.keys {
      metrics.gauge(
        "awd_push_oldest_seconds", "Age of the oldest push in the outbox",
        ["service": service, "provider": provider]
      ) { [self] in
        let own = states(of: service).filter { $0.kind.provider == provider }
        guard let oldest = own.map(\.oldest).min() else { return 0 }
        return max(0, oldest.duration(to: clock()) / .seconds(1))
      }
    }
  }

  private func states(of service: String) -> [PushStore.State] {
    queue.withLock { $0.states }.filter { $0.service == service }
  }

  /// Returns the counter of a service's pushes that are given up.
  func dropped(of service: String, for cause: String) -> Counter {
    metrics.counter(
      "awd_push_dropped_total", "Undelivered pushes that are given up",
      ["service": service, "cause": cause])
  }

  /// True if it is time to read the state of the outbox.
  var wantsState: Bool {
    let now = clock()
    return queue.withLock { queue in
      // Read again at once if the clock was set back.
      if let readAt = queue.readAt, (.zero..<Self.stateAge).contains(readAt.duration(to: now)) {
        return false
      }
      queue.readAt = now
      return true
    }
  }

  /// Records the state of the outbox.
  func record(_ states: [PushStore.State]) {
    queue.withLock { $0.states = states }
  }

  /// Counts the outcome of an attempt.
  func count(_ outcome: PushOutcome, of kind: PushKind, after duration: Duration) {
    let provider = providers[kind.provider]
    switch outcome {
    case .responded(let response):
      provider?.responses.add(response.status)
      provider?.latency.observe(duration)
    case .logged: provider?.responses.add(200)
    case .disconnected: provider?.failures["disconnected"]?.add()
    case .unreachable: provider?.failures["unreachable"]?.add()
    case .cancelled, .postponed, .forbidden: break
    }
  }

  /// Counts a push that is given up.
  func count(_ completion: PushCompletion, of service: String) {
    switch completion {
    case .dropped(let cause): dropped(of: service, for: cause.rawValue).add()
    case .unbound: dropped(of: service, for: PushDrop.deviceGone.rawValue).add()
    case .delivered, .logged, .retried: break
    }
  }
}
