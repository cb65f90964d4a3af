internal import ApptimistProtocol
internal import Budgets
internal import Cryptography
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Routing
internal import Storage
internal import Platform
internal import Transport

/// Checks the handshakes of devices and opens their sessions (page "Connection").
struct SessionHandshake: Sendable {
  let services: SessionUseCases
  let configuration: ApptimistConfiguration
  /// True if devices come by TLS that ends before this server.
  let isSecureOutside: Bool
  let randomBytes: @Sendable (_ count: Int) -> [UInt8]
  let clock: @Sendable () -> Timestamp

  /// Accepts a handshake.
  ///
  /// - Throws: ``HTTPError`` with 400 for a key that is missing, malformed or weak, or in version 1 used, and for too
  ///   many versions, or 429 for too many handshakes of the client's network.
  func accept(_ request: Request) async throws -> WebSocketAcceptance {
    let network = request.origin.client
    if let seconds = services.clients.wait(for: .handshake, of: network) {
      services.metrics.handshakesRefused.add()
      throw HTTPError(.tooManyRequests, retryAfter: seconds)
    }
    guard let offer = Self.offer(in: request.head) else {
      services.metrics.handshakesRefused.add()
      throw HTTPError(.badRequest, "expected at most \(Version2.VersionOffer.most) versions")
    }
    let isVersion2 = offer.versions.contains(Version2.number)
    guard let key = Self.ephemeralKey(in: request.head.query), !key.isLowOrder,
      try await WorkOwner.$current.withValue(
        WorkOwner(client: network, account: request.origin.id),
        operation: {
          // In version 2 a key that was used before does no harm.
          if isVersion2 { true } else { try await services.ephemeralKeys.mayServe(key) }
        })
    else {
      services.metrics.handshakesRefused.add()
      throw HTTPError(.badRequest, "expected the device's fresh ephemeral key as 64 digits")
    }
    let scheme = request.origin.isSecure || isSecureOutside ? "wss" : "ws"
    let id = services.newSession()
    let limits = configuration.session
    let setup = SessionSetup(
      encryption: services.keys.encryption, identity: services.keys.identity, ephemeralKey: key,
      uri: "\(scheme)://\(request.head.authority)\(configuration.path)", limits: limits,
      silence: silence())
    let version2 = isVersion2 ? offer : nil
    let longest = isVersion2 ? limits.frame.version2Message : limits.frame.message
    var acceptance = WebSocketAcceptance { [self] socket in
      let owner = network.map { ClientAccount($0, Int?.none) }
      let place = Holding(of: services.clients.joining, for: owner) { socket.yield() }
      place.used(at: socket.loop.now)
      guard place.set(to: 1) else { return RefusedConnection(socket, 1013) }
      guard let session = session(setup, version2) else { return RefusedConnection(socket, 1008) }
      return SessionConnection(
        socket, id: id, network: network, place: place, services: services, longestMessage: longest,
        session: session)
    }
    acceptance.subprotocol = isVersion2 ? Version2.subprotocol : nil
    let first =
      isVersion2 ? SessionConnection.firstMessagesOfVersion2 : SessionConnection.firstMessages
    acceptance.limits.maximumMessage = min(first, longest)
    acceptance.lowWaterMark = SessionConnection.lowWaterMark
    // Above the low-water mark nothing is added but one reply and one part of the stream.
    acceptance.highWaterMark = max(4 << 20, 4 * limits.frame.message)
    acceptance.limits.pingInterval = configuration.pingInterval
    return acceptance
  }

  /// Makes a session of the version that the device asks for.
  private func session(_ setup: SessionSetup, _ offer: Version2.VersionOffer?) -> DeviceSession? {
    let version2 = offer.map { offer in
      Version2Setup(
        ephemeral: .generate(for: .session), offer: offer, time: UInt64(max(0, clock().seconds)),
        pageMax: UInt16(clamping: configuration.pageMax))
    }
    return DeviceSession(setup, version2)
  }

  /// Reads the versions that a device offers; nil if they are too many.
  private static func offer(in head: RequestHead) -> Version2.VersionOffer? {
    let isBlank = { (character: Character) in character == " " || character == "\t" }
    let names = (head.value(.secWebSocketProtocol) ?? "").split(separator: ",").map { name in
      var name = name.drop(while: isBlank)
      while name.last.map(isBlank) == true { name.removeLast() }
      return name
    }
    return Version2.VersionOffer(subprotocols: names)
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
