internal import ApptimistProtocol
internal import ApptimistSession
internal import Budgets
internal import Cryptography
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import ServiceKit
internal import Storage
internal import Transport

/// Checks the handshakes of devices and opens their sessions (page "Connection").
struct SessionHandshake: Sendable {
  let backend: Backend
  let configuration: ApptimistConfiguration
  /// Whether devices come by TLS that ends before this server.
  let isSecureOutside: Bool
  let randomBytes: @Sendable (_ count: Int) -> [UInt8]

  /// Accepts a handshake.
  ///
  /// - Throws: ``HTTPError`` with 400 for a key that is missing, malformed, weak or used, or 429 for too many
  ///   handshakes of the client's network.
  func accept(_ request: Request) async throws -> WebSocketAcceptance {
    let network = request.origin.client
    if let seconds = backend.clients.countHandshake(of: network) {
      backend.metrics.handshakesRefused.add()
      throw HTTPError(.tooManyRequests, retryAfter: seconds)
    }
    guard let key = Self.ephemeralKey(in: request.head.query),
      try await WorkOwner.$current.withValue(
        WorkOwner(client: network, account: request.origin.id),
        operation: {
          try await backend.ephemeralKeys.mayServe(key)
        })
    else {
      backend.metrics.handshakesRefused.add()
      throw HTTPError(.badRequest, "expected the device's fresh ephemeral key as 64 digits")
    }
    let scheme = request.origin.isSecure || isSecureOutside ? "wss" : "ws"
    let id = backend.newSession()
    let limits = configuration.session
    let setup = SessionSetup(
      encryption: backend.keys.encryption, identity: backend.keys.identity, ephemeralKey: key,
      uri: "\(scheme)://\(request.head.authority)\(configuration.path)", limits: limits,
      silence: silence())
    var acceptance = WebSocketAcceptance { [backend] socket in
      let place = Holding(of: backend.clients.joining, for: network) { socket.yield() }
      place.used(at: socket.loop.now)
      guard place.set(to: 1) else { return RefusedConnection(socket, 1013) }
      guard let session = Session(setup) else { return RefusedConnection(socket, 1008) }
      return SessionConnection(
        socket, id: id, network: network, place: place, backend: backend, session: session)
    }
    acceptance.limits.maximumMessage = min(SessionConnection.firstMessages, limits.frame.message)
    acceptance.lowWaterMark = SessionConnection.lowWaterMark
    // Above the low-water mark nothing is added but one reply and one part of the stream.
    acceptance.highWaterMark = max(4 << 20, 4 * limits.frame.message)
    acceptance.limits.pingInterval = configuration.pingInterval
    return acceptance
  }

  /// Reads the key in `?<64 digits>` or `?key=<64 digits>`.
  private static func ephemeralKey(in query: ArraySlice<UInt8>?) -> EncryptionPublicKey? {
    guard var digits = query else { return nil }
    let name = [UInt8]("key=".utf8)
    if digits.starts(with: name) { digits = digits.dropFirst(name.count) }
    return Hex.decode(digits).flatMap { EncryptionPublicKey($0) }
  }

  /// A random duration for which a refused session is silent.
  private func silence() -> Duration {
    let range = configuration.refusal
    let random = randomBytes(2).reduce(0) { $0 << 8 | Int($1) }
    return range.lowerBound + (range.upperBound - range.lowerBound) * random / Int(UInt16.max)
  }
}

/// A connection for which there is no place, or with a key with which no secret can be agreed on.
private final class RefusedConnection: WebSocketHandler {
  init(_ socket: WebSocketSession, _ code: UInt16) { socket.close(code) }

  func received(_ message: WebSocketMessage) {}

  func closed(_ code: UInt16?) {}
}
