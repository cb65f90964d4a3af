internal import Budgets
internal import Cluster
internal import Observability
internal import ServiceKit

/// Counts what sessions do.
final class ApptimistMetrics: Sendable {
  private let received: CounterTable
  private let sent: Counter
  private let delivered: Counter
  private let ignored: Counter
  private let refused: Counter
  private let redirected: Counter
  let queued: Counter
  let failed: Counter
  let handshakesRefused: Counter
  let overQuota: Counter

  /// Registers the metrics.
  init(_ metrics: Metrics, hub: SessionHub, clients: ClientAccounting) {
    received = metrics.counters(
      "awd_apptimist_pdus_received_total", "PDUs received from devices", by: "type", 1...23)
    sent = metrics.counter("awd_apptimist_pdus_sent_total", "PDUs sent to devices")
    delivered = metrics.counter(
      "awd_apptimist_messages_delivered_total", "Messages sent to devices")
    ignored = metrics.counter(
      "awd_apptimist_pdus_ignored_total", "Ignored PDUs, of an unknown or unexpected type")
    refused = metrics.counter(
      "awd_apptimist_sessions_refused_total", "Sessions ended for a protocol violation")
    redirected = metrics.counter("awd_apptimist_sessions_redirected_total", "Redirected sessions")
    queued = metrics.counter(
      "awd_apptimist_messages_queued_total", "Queued messages, one per recipient")
    failed = metrics.counter(
      "awd_apptimist_requests_failed_total", "Requests that failed in the store")
    handshakesRefused = metrics.counter(
      "awd_apptimist_handshakes_refused_total",
      "Handshakes with a malformed, weak or used key, or too many of an address")
    overQuota = metrics.counter(
      "awd_apptimist_messages_over_quota_total",
      "Messages that were ignored as their sender has sent too much, one per recipient")
    metrics.budget(named: "apptimist-unauthenticated-sessions") { clients.joining.statistics }
    metrics.budget(named: "apptimist-sessions") { clients.sessions.statistics }
    metrics.gauge("awd_apptimist_sessions", "Established sessions") { Double(hub.count) }
  }

  /// Counts something that a session reports.
  func count(_ counted: SessionAction.Counted) {
    switch counted {
    case .received(let type): received.add(Int(type))
    case .ignored: ignored.add()
    case .refused: refused.add()
    }
  }

  /// Counts something that was sent.
  func count(_ kind: SessionAction.Sent) {
    switch kind {
    case .message:
      sent.add()
      delivered.add()
    case .redirect: redirected.add()
    case .other: sent.add()
    }
  }
}
