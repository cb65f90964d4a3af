public import Synchronization

/// The counters of one loop's connections, written by its thread and read by any.
public final class ConnectionStatistics: Sendable {
  /// Connections that are open now.
  public let open = Atomic<Int>(0)
  /// Connections cut because the peer read or wrote too slowly.
  public let cut = Atomic<Int>(0)
  /// TLS handshakes completed.
  public let tlsHandshakes = Atomic<Int>(0)
  /// TLS handshakes that failed, and connections that broke TLS later.
  public let tlsFailures = Atomic<Int>(0)
  /// The longest turn of the loop in the last minute or two, in milliseconds: so long every other connection waited.
  public let longestTurn = Atomic<Int>(0)
  /// Bytes taken from sockets.
  public let bytesReceived = Atomic<Int>(0)
  /// Bytes given to sockets.
  public let bytesSent = Atomic<Int>(0)
}

extension Atomic where Value == Int {
  /// Adds on the one thread that writes this counter.
  ///
  /// - Parameter amount: the number to add.
  @inlinable
  public borrowing func bump(_ amount: Int = 1) {
    // One writer: a plain load and store cost a fraction of a locked addition.
    store(load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }

  /// The value, as another thread may see it a little later.
  @inlinable public var value: Int { load(ordering: .relaxed) }
}
