public import Synchronization

/// The counters of one loop's connections, written by its thread and read by any.
package final class ConnectionStatistics: Sendable {
  /// Connections that are open now.
  package let open = Atomic<Int>(0)
  /// Connections cut because the peer read or wrote too slowly.
  package let cut = Atomic<Int>(0)
  /// TLS handshakes completed.
  package let tlsHandshakes = Atomic<Int>(0)
  /// TLS handshakes that failed, and connections that broke TLS later.
  package let tlsFailures = Atomic<Int>(0)
  /// The longest turn of the loop in the last minute or two, in milliseconds: so long every other connection waited.
  package let longestTurn = Atomic<Int>(0)
  /// Bytes taken from sockets.
  package let bytesReceived = Atomic<Int>(0)
  /// Bytes given to sockets.
  package let bytesSent = Atomic<Int>(0)
}

extension Atomic where Value == Int {
  /// Adds on the one thread that writes this counter.
  ///
  /// - Parameter amount: the number to add.
  @inlinable
  package borrowing func bump(_ amount: Int = 1) {
    // One writer: a plain load and store cost a fraction of a locked addition.
    store(load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }

  /// The value, as another thread may see it a little later.
  @inlinable package var value: Int { load(ordering: .relaxed) }
}
