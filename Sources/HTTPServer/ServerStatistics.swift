internal import Synchronization
internal import Transport

/// The counters of a server at one moment.
public struct ServerStatistics: Sendable, Equatable {
  /// Connections that are open now, WebSockets among them.
  public var connections = 0
  /// WebSocket sessions that are open now.
  public var webSockets = 0
  /// Connections accepted since the start.
  public var accepted = 0
  /// Pauses in accepting, because descriptors had run out.
  public var acceptPauses = 0
  /// Requests refused before any handler saw them: malformed, too large, too slow.
  public var refusedRequests = 0
  /// Requests refused with 429, because their client had too many in progress.
  public var limitedRequests = 0
  /// The longest turn of a loop in the last minute or two, in milliseconds.
  public var longestTurn = 0
  /// Connections cut because the peer read or wrote too slowly.
  public var cutConnections = 0
  /// TLS handshakes completed.
  public var tlsHandshakes = 0
  /// TLS handshakes that failed, and connections that broke TLS later.
  public var tlsFailures = 0
  /// HTTP/2 connections ended with `ENHANCE_YOUR_CALM`, because the peer gave more work than it took responses.
  public var enhanceYourCalm = 0
  /// Bytes taken from sockets.
  public var bytesReceived = 0
  /// Bytes given to sockets.
  public var bytesSent = 0
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
