internal import Formats
internal import HTTPProtocol
internal import Transport

/// A connection whose TLS handshake is under way: nothing is understood yet, and time is short.
final class TLSHandshake: ServedProtocol {
  /// The connection releases this object when it ends, which breaks the cycle.
  private let connection: Connection
  private let peer: Peer
  private let server: ServerLoop
  private let deadline: Int64

  init(_ connection: Connection, _ peer: Peer, _ server: ServerLoop) {
    (self.connection, self.peer, self.server) = (connection, peer, server)
    deadline = connection.loop.now(after: server.core.options.headerTimeout)
  }

  func received(_ input: RawSpan) {}

  func secured() {
    guard connection.tls?.speaks("h2") == true else {
      return connection.become(HTTP1Connection(connection, peer, server))
    }
    guard let http2 = HTTP2Connection(connection, peer, server) else { return connection.abort() }
    connection.become(http2)
  }

  func tlsFailed(_ failure: TLSFailure) {
    guard failure == .plainRequest, let tls = connection.tls else { return }
    // It goes out as it is: nothing of this session is sealed any more.
    let text = "The plain HTTP request was sent to the HTTPS port.\n"
    Response(.badRequest, type: "text/plain", text: text).serializeHead(
      into: &tls.output, date: server.dateLine, keepAlive: false, version10: false,
      headOnly: false)
    tls.output += text.utf8
  }

  func peerEnded() { connection.finish() }

  func drained() {}

  func tick() { if connection.loop.now > deadline { connection.cut() } }

  func drain() { connection.abort() }

  func lostMemory(of owner: ClientNetwork?) { connection.abort() }

  func ended() {}
}
