internal import Synchronization

/// Counters of a server, as they were at one moment.
public struct ServerStatistics: Sendable, Equatable {
  /// Connections that are open now, WebSockets among them.
  public var connections = 0
  /// WebSocket sessions that are open now.
  public var webSockets = 0
  /// Connections accepted since the start.
  public var accepted = 0
  /// How often accepting was paused because descriptors or places ran out.
  public var acceptPauses = 0
  /// Requests refused before any handler saw them: malformed, too large, too slow.
  public var refusedRequests = 0
  /// Connections cut because the peer read or wrote too slowly.
  public var cutConnections = 0
  /// TLS handshakes completed.
  public var tlsHandshakes = 0
  /// TLS handshakes that failed, and connections that broke TLS later.
  public var tlsFailures = 0
  /// HTTP/2 connections ended because the peer gave more work than it took answers.
  public var calmedConnections = 0
  /// Bytes taken from sockets.
  public var bytesReceived = 0
  /// Bytes given to sockets.
  public var bytesSent = 0
}

/// The counters of one loop, written by its thread and read by any.
final class LoopStatistics: Sendable {
  let connections = Atomic<Int>(0)
  let webSockets = Atomic<Int>(0)
  let accepted = Atomic<Int>(0)
  let acceptPauses = Atomic<Int>(0)
  let refusedRequests = Atomic<Int>(0)
  let cutConnections = Atomic<Int>(0)
  let tlsHandshakes = Atomic<Int>(0)
  let tlsFailures = Atomic<Int>(0)
  let calmedConnections = Atomic<Int>(0)
  let bytesReceived = Atomic<Int>(0)
  let bytesSent = Atomic<Int>(0)

  func add(to sum: inout ServerStatistics) {
    sum.connections += connections.load(ordering: .relaxed)
    sum.webSockets += webSockets.load(ordering: .relaxed)
    sum.accepted += accepted.load(ordering: .relaxed)
    sum.acceptPauses += acceptPauses.load(ordering: .relaxed)
    sum.refusedRequests += refusedRequests.load(ordering: .relaxed)
    sum.cutConnections += cutConnections.load(ordering: .relaxed)
    sum.tlsHandshakes += tlsHandshakes.load(ordering: .relaxed)
    sum.tlsFailures += tlsFailures.load(ordering: .relaxed)
    sum.calmedConnections += calmedConnections.load(ordering: .relaxed)
    sum.bytesReceived += bytesReceived.load(ordering: .relaxed)
    sum.bytesSent += bytesSent.load(ordering: .relaxed)
  }
}

extension Atomic where Value == Int {
  /// Adds on the one thread that writes this counter.
  borrowing func bump(_ amount: Int = 1) {
    // One writer: a plain load and store cost a fraction of a locked addition.
    store(load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }
}
