/// A connection whose TLS handshake is under way: nothing is understood yet, and time is short.
final class TLSHandshake: ConnectionProtocol {
  /// The connection lets go of this object when it ends, which breaks the cycle.
  private let connection: Connection
  private let since: UInt64

  init(_ connection: Connection) {
    self.connection = connection
    since = connection.loop.now
  }

  func received(_ input: RawSpan) {}

  func peerEnded() { connection.close() }

  func drained() {}

  func tick() {
    let limit = connection.loop.server.options.headerTimeout.milliseconds
    if connection.loop.now - since > limit { connection.cut() }
  }

  func drain() { connection.close() }

  func ended() {}
}
