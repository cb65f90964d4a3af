internal import Observability
internal import Threading
internal import Time

/// Counts the outcomes of pushes.
final class PushMetrics: Sendable {
  /// The time for which the state of the outbox counts as known.
  private static let stateAge = Duration.seconds(5)

  /// The numbers of one kind of push services.
  private struct Service {
    let responses: CounterTable
    let disconnected: Counter
    let unreachable: Counter
    let latency: Histogram
  }

  private let services: [PushKind: Service]
  private let refused: Counter
  private let expired: Counter
  private let unbound: Counter
  private let clock: @Sendable () -> Timestamp
  private let queue = Lock<(state: OutboxState, noted: Timestamp?)>((OutboxState(), nil))

  /// Registers the metrics.
  init(_ metrics: Metrics, clock: @escaping @Sendable () -> Timestamp) {
    let failures: StaticString = "awd_msgr_push_failures_total"
    let failureHelp = "Push attempts without a response"
    services = Dictionary(
      uniqueKeysWithValues: PushKind.allCases.map { kind in
        let labels: Metrics.Labels = ["provider": "\(kind)"]
        return (
          kind,
          Service(
            responses: metrics.counters(
              "awd_msgr_push_answers_total", "Responses of push services", labels, by: "status",
              100...599),
            disconnected: metrics.counter(
              failures, failureHelp, ["provider": "\(kind)", "cause": "disconnected"]),
            unreachable: metrics.counter(
              failures, failureHelp, ["provider": "\(kind)", "cause": "unreachable"]),
            latency: metrics.histogram(
              "awd_msgr_push_seconds", "Response time of push services", labels))
        )
      })
    let drops: StaticString = "awd_msgr_push_dropped_total"
    let dropHelp = "Undelivered pushes that are given up"
    refused = metrics.counter(drops, dropHelp, ["cause": "refused"])
    expired = metrics.counter(drops, dropHelp, ["cause": "expired"])
    unbound = metrics.counter(drops, dropHelp, ["cause": "device gone"])
    self.clock = clock
    metrics.gauge("awd_msgr_push_outbox", "Pushes waiting or under way") { [self] in
      Double(queue.withLock { $0.state.length })
    }
    metrics.gauge("awd_msgr_push_oldest_seconds", "Age of the oldest push in the outbox") {
      [self] in
      guard let oldest = queue.withLock({ $0.state.oldest }) else { return 0 }
      return max(0, oldest.duration(to: clock()) / .seconds(1))
    }
  }

  /// True if it is time to ask for the state of the outbox.
  var wantsState: Bool {
    let now = clock()
    return queue.withLock { queue in
      // Asked again at once if the clock was set back.
      if let noted = queue.noted, (.zero..<Self.stateAge).contains(noted.duration(to: now)) {
        return false
      }
      queue.noted = now
      return true
    }
  }

  /// Takes the state of the outbox.
  func note(_ state: OutboxState) { queue.withLock { $0.state = state } }

  /// Counts the outcome of an attempt.
  func note(_ outcome: PushOutcome, of kind: PushKind, after duration: Duration) {
    let service = services[kind]
    switch outcome {
    case .responded(let response):
      service?.responses.add(response.status)
      service?.latency.observe(duration)
    case .disconnected: service?.disconnected.add()
    case .unreachable: service?.unreachable.add()
    case .cancelled, .postponed, .forbidden: break
    }
  }

  /// Counts a report to the operator.
  func note(_ report: OutboxMachine.Report) {
    switch report {
    case .refused, .unauthorized, .appLacksKey: refused.add()
    case .expired: expired.add()
    case .unbound: unbound.add()
    case .targetInDoubt, .unreachable, .misconfigured: break
    }
  }
}
