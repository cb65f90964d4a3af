internal import ApptimistProtocol
internal import ApptimistSession
internal import Cryptography
internal import HTTPProtocol
internal import HTTPServer
internal import ServiceKit
internal import Synchronization
internal import Time

/// Checks the handshakes of devices and opens their sessions (page "Connection").
final class SessionHandshake: Sendable {
  private let backend: Backend
  private let configuration: ApptimistConfiguration
  /// Whether devices come by TLS that ends before this server.
  private let isSecureOutside: Bool
  private let randomBytes: @Sendable (_ count: Int) -> [UInt8]
  private let lastID = Atomic<UInt64>(0)

  init(
    _ backend: Backend, _ configuration: ApptimistConfiguration, publicURL: String?,
    randomBytes: @escaping @Sendable (_ count: Int) -> [UInt8]
  ) {
    self.backend = backend
    self.configuration = configuration
    isSecureOutside = publicURL?.hasPrefix("https:") ?? false
    self.randomBytes = randomBytes
  }

  /// Accepts a handshake.
  ///
  /// - Throws: ``HTTPError`` with 400 for a key that is missing, malformed, weak or used.
  func accept(_ request: Request) async throws -> WebSocketAcceptance {
    guard let key = Self.ephemeralKey(in: request.head.query),
      try await backend.ephemeralKeys.mayServe(key)
    else {
      backend.metrics.countRefusedHandshake()
      throw HTTPError(.badRequest, "expected the device's fresh ephemeral key as 64 digits")
    }
    let scheme = request.origin.isSecure || isSecureOutside ? "wss" : "ws"
    let id = SessionID(number: lastID.wrappingAdd(1, ordering: .relaxed).newValue)
    let limits = configuration.session
    let setup = SessionSetup(
      encryption: backend.keys.encryption, identity: backend.keys.identity, ephemeralKey: key,
      uri: "\(scheme)://\(request.head.authority)\(configuration.path)", limits: limits,
      silence: silence())
    var acceptance = WebSocketAcceptance { [backend] socket in
      guard let session = Session(setup) else { return RefusedConnection(socket) }
      return SessionConnection(socket, id: id, backend: backend, session: session)
    }
    acceptance.limits.maximumMessage = limits.frame.message
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

/// A connection with a key with which no secret can be agreed on.
private final class RefusedConnection: WebSocketHandler {
  init(_ socket: WebSocketSession) { socket.close(1008) }

  func received(_ message: WebSocketMessage) {}

  func closed(_ code: UInt16?) {}
}
