internal import Synchronization
internal import Transport

/// The counters of a server at one moment.
package struct ServerStatistics: Sendable, Equatable {
  /// Connections that are open now, WebSockets among them.
  package var connections = 0
  /// WebSocket sessions that are open now.
  package var webSockets = 0
  /// Connections accepted since the start.
  package var accepted = 0
  /// Pauses in accepting, because descriptors had run out.
  package var acceptPauses = 0
  /// Requests refused before any handler saw them: malformed, too large, too slow.
  package var refusedRequests = 0
  /// Requests refused with 429, because their client had too many in progress.
  package var limitedRequests = 0
  /// The longest turn of a loop in the last minute or two, in milliseconds.
  package var longestTurn = 0
  /// Connections cut because the peer read or wrote too slowly.
  package var cutConnections = 0
  /// TLS handshakes completed.
  package var tlsHandshakes = 0
  /// TLS handshakes that failed, and connections that broke TLS later.
  package var tlsFailures = 0
  /// HTTP/2 connections ended with `ENHANCE_YOUR_CALM`, because the peer gave more work than it took responses.
  package var enhanceYourCalm = 0
  /// Bytes taken from sockets.
  package var bytesReceived = 0
  /// Bytes given to sockets.
  package var bytesSent = 0
}

/// The counters of one loop that its connections do not keep, written by its thread and read by any.
final class LoopStatistics: Sendable {
  let webSockets = Atomic<Int>(0)
  let accepted = Atomic<Int>(0)
  let acceptPauses = Atomic<Int>(0)
  let refusedRequests = Atomic<Int>(0)
  let limitedRequests = Atomic<Int>(0)
  let enhanceYourCalm = Atomic<Int>(0)
}

extension ServerStatistics {
  /// Adds the counters of one loop.
  mutating func add(_ loop: LoopStatistics, _ connections: ConnectionStatistics) {
    self.connections += connections.open.value
    webSockets += loop.webSockets.value
    accepted += loop.accepted.value
    acceptPauses += loop.acceptPauses.value
    refusedRequests += loop.refusedRequests.value
    limitedRequests += loop.limitedRequests.value
    longestTurn = max(longestTurn, connections.longestTurn.value)
    cutConnections += connections.cut.value
    tlsHandshakes += connections.tlsHandshakes.value
    tlsFailures += connections.tlsFailures.value
    enhanceYourCalm += loop.enhanceYourCalm.value
    bytesReceived += connections.bytesReceived.value
    bytesSent += connections.bytesSent.value
  }
}
