internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol
internal import HTTPServer
internal import ServiceKit
internal import Synchronization
internal import Time

/// Lets devices in: looks at the handshake, and begins the session (page "Connection").
final class SessionGate: Sendable {
  private let backend: Backend
  private let configuration: ApptimistConfiguration
  /// Whether devices come by TLS that ends before this server.
  private let isSecureOutside: Bool
  private let lastID = Atomic<UInt64>(0)

  init(_ backend: Backend, _ configuration: ApptimistConfiguration, publicURL: String?) {
    self.backend = backend
    self.configuration = configuration
    isSecureOutside = publicURL?.hasPrefix("https:") ?? false
  }

  /// Accepts a handshake.
  ///
  /// - Throws: ``HTTPError`` with 400 for a key that is missing, malformed, weak or used.
  func accept(_ request: Request) async throws -> WebSocketAcceptance {
    guard let key = Self.ephemeralKey(in: request.head.query), try await backend.mayServe(key)
    else {
      backend.metrics.noteHandshakeRefused()
      throw HTTPError(.badRequest, "expected the device's fresh ephemeral key as 64 digits")
    }
    let scheme = request.origin.isSecure || isSecureOutside ? "wss" : "ws"
    let uri = "\(scheme)://\(request.head.authority)\(configuration.path)"
    let id = SessionID(number: lastID.wrappingAdd(1, ordering: .relaxed).newValue)
    let limits = configuration.session
    let setup = Session.Setup(
      keys: backend.keys, ephemeralKey: key, uri: uri, limits: limits,
      silence: Self.random(limits.refusal), note: backend.metrics.note)
    var acceptance = WebSocketAcceptance { [backend] socket in
      guard let session = Session(setup) else { return RefusedConnection(socket) }
      return DeviceConnection(socket, id: id, backend: backend, session: session)
    }
    acceptance.maximumMessage = limits.frame.message
    acceptance.lowWaterMark = DeviceConnection.lowWaterMark
    // Above the low-water mark nothing is added but one answer and one part of the stream.
    acceptance.highWaterMark = max(4 << 20, 4 * limits.frame.message)
    acceptance.pingInterval = configuration.pingInterval
    return acceptance
  }

  /// The key in `?<64 digits>` or `?key=<64 digits>`.
  static func ephemeralKey(in query: ArraySlice<UInt8>?) -> EncryptionPublicKey? {
    guard var digits = query else { return nil }
    let name = [UInt8]("key=".utf8)
    if digits.starts(with: name) { digits = digits.dropFirst(name.count) }
    return Hex.decode(digits).flatMap { EncryptionPublicKey($0) }
  }

  private static func random(_ range: ClosedRange<Duration>) -> Duration {
    .milliseconds(
      Int64.random(in: range.lowerBound.wholeMilliseconds...range.upperBound.wholeMilliseconds))
  }
}

/// A connection with a key that no secret can be agreed on with.
private final class RefusedConnection: WebSocketHandler {
  init(_ socket: WebSocketSession) { socket.close(1008) }

  func received(_ message: WebSocketMessage) {}

  func closed(_ code: UInt16?) {}
}
