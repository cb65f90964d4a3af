internal import Observability
internal import Threading
internal import Time

/// Counts what becomes of pushes.
final class PushMetrics: Sendable {
  private let answers: CounterTable
  private let disconnected: Counter
  private let unreachable: Counter
  private let refused: Counter
  private let expired: Counter
  private let unbound: Counter
  private let latency: Histogram
  private let clock: @Sendable () -> Timestamp
  private let queue = Lock<(state: OutboxState, noted: Timestamp?)>((OutboxState(), nil))

  /// Registers the metrics.
  init(_ metrics: Metrics, clock: @escaping @Sendable () -> Timestamp) {
    answers = metrics.counters(
      "awd_msgr_push_answers_total", "Responses of the push service", by: "status", 100...599)
    let failures: StaticString = "awd_msgr_push_failures_total"
    let failureHelp = "Push attempts without a response"
    disconnected = metrics.counter(failures, failureHelp, ["cause": "disconnected"])
    unreachable = metrics.counter(failures, failureHelp, ["cause": "unreachable"])
    let drops: StaticString = "awd_msgr_push_dropped_total"
    let dropHelp = "Undelivered pushes that are given up"
    refused = metrics.counter(drops, dropHelp, ["cause": "refused"])
    expired = metrics.counter(drops, dropHelp, ["cause": "expired"])
    unbound = metrics.counter(drops, dropHelp, ["cause": "device gone"])
    latency = metrics.histogram("awd_msgr_push_seconds", "Response time of the push service")
    self.clock = clock
    metrics.gauge("awd_msgr_push_outbox", "Pushes waiting or under way") { [self] in
      Double(queue.withLock { $0.state.length })
    }
    metrics.gauge("awd_msgr_push_oldest_seconds", "Age of the oldest push in the outbox") {
      [self] in
      guard let oldest = queue.withLock({ $0.state.oldest }) else { return 0 }
      return Double(max(0, clock().milliseconds - oldest.milliseconds)) / 1000
    }
  }

  /// Whether it is time to ask how the outbox stands.
  var wantsState: Bool {
    let now = clock()
    return queue.withLock { queue in
      guard queue.noted.map({ abs(now.milliseconds - $0.milliseconds) >= 5000 }) ?? true else {
        return false
      }
      queue.noted = now
      return true
    }
  }

  /// Takes note of how the outbox stands.
  func note(_ state: OutboxState) {
    queue.withLock { $0.state = state }
  }

  /// Counts what came of a try.
  func note(_ outcome: PushOutcome, after duration: Duration) {
    switch outcome {
    case .answered(let answer):
      answers.add(answer.status)
      latency.observe(duration)
    case .disconnected: disconnected.add()
    case .unreachable: unreachable.add()
    case .cancelled: break
    }
  }

  /// Counts what an operator is told.
  func note(_ report: OutboxMachine.Report) {
    switch report {
    case .refused: refused.add()
    case .expired: expired.add()
    case .unbound: unbound.add()
    case .targetInDoubt, .unreachable: break
    }
  }
}
