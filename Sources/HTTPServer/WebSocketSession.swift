package import HTTPProtocol
package import Transport

/// A reference to an open WebSocket, usable from any thread and harmless after its end.
package final class WebSocketSession: Sendable {
  /// The loop that the session lives on.
  package let loop: EventLoop
  private let id: ConnectionID

  init(loop: EventLoop, id: ConnectionID) { (self.loop, self.id) = (loop, id) }

  /// Sends a message; if more than the high-water mark would wait, the session is closed with 1013 instead.
  ///
  /// - Parameter message: the message.
  package func send(_ message: WebSocketMessage) { withConnection { $0.send(message) } }

  /// Begins the close handshake; the peer's close frame is awaited for five seconds.
  ///
  /// - Parameters:
  ///   - code: the close code.
  ///   - reason: at most 123 bytes of text for the peer.
  package func close(_ code: UInt16, reason: String = "") {
    withConnection { $0.close(code, reason: reason) }
  }

  /// Writes sent messages at once instead of at the end of the turn. Call it on the session's loop.
  ///
  /// A handler that sends to many sessions in one turn calls this, so that none waits for all others.
  package func flush() { if loop.isCurrent { loop.connection(id)?.flush() } }

  /// Takes no further messages for now; to be called on the session's loop.
  ///
  /// One message and at most as much as one read gives are held back, the rest waits in the kernel. Pings that come
  /// before that message get their pongs.
  package func pauseReceiving() { if loop.isCurrent { current?.machine.pause() } }

  /// Takes nothing for now, not even pings; to be called on the session's loop.
  ///
  /// At most as much as one read gives is held back, as it came: ``limitMessages(to:)`` counts for it.
  package func stopReceiving() { if loop.isCurrent { current?.machine.stop() } }

  /// Changes the longest message that is taken, beginning with the next frame; to be called on the session's loop.
  ///
  /// A peer that isn't known yet needs less than one that has logged in.
  ///
  /// - Parameter size: the size in bytes; a longer message closes the session with 1009.
  package func limitMessages(to size: Int) {
    if loop.isCurrent { current?.machine.maximumMessage = size }
  }

  /// Takes messages again, with those that were held back first; to be called on the session's loop.
  package func resumeReceiving() { if loop.isCurrent { current?.resumeReceiving() } }

  /// Starts the session's timer, which calls ``WebSocketHandler/timerFired()`` once; an earlier start is forgotten.
  ///
  /// - Parameter duration: the time until then; the loop's clock ticks four times a second.
  package func setTimer(after duration: Duration) { withConnection { $0.setTimer(after: duration) } }

  /// The number of bytes that wait to be sent; 0 after the end, and on any other thread than the session's loop.
  package var backlog: Int { loop.isCurrent ? loop.connection(id)?.backlog ?? 0 : 0 }

  private var current: WebSocketConnection? {
    loop.connection(id)?.protocolHandler as? WebSocketConnection
  }

  private func withConnection(_ body: @escaping @Sendable (WebSocketConnection) -> Void) {
    let act = { @Sendable [self] in if let current { body(current) } }
    if loop.isCurrent { act() } else { loop.execute(act) }
  }
}
