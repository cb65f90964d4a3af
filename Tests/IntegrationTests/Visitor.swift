internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol
internal import TestSupport
internal import WalletClient
internal import HTTPClient

/// A device's connection, made of protocol units, that records how the service ends it.
final class Visitor {
  /// The way in which the connection ended.
  struct Farewell: Equatable {
    var redirect: String?
    var code: UInt16?
  }

  private let socket: WebSocket
  private var channel: HeaderChannel

  /// Connects, and logs in if there are keys, in version 1.
  init(_ site: Site, _ client: WebSocketClient, as keys: DeviceKeys?) async throws {
    let identity = try await site.identity()
    let ephemeral = EncryptionKeyPair.generate(for: .session)
    var url = try site.siren
    url.query = ephemeral.publicKey.hex
    socket = try await client.connect(to: url)
    let channel = HeaderChannel(
      own: ephemeral, peer: identity.encryptionKey, dataNonce: identity.dataNonce)
    guard let channel else { throw Unexpected("no channel") }
    self.channel = channel
    guard let keys, let nobody = ShortBytes("?") else { return }
    let signature = keys.authentication.sign(keys.user)
    try send(.login(PDU.Login(user: keys.user, signature: signature, max: 0, head: MessageID())))
    // Its answer says that the session is established.
    try send(.searchByUid(PDU.SearchByUid(maxUsers: 1, text: nobody)))
    while let pdu = try await next() { if pdu == .user(.nobody) { return } }
    throw Unexpected("no login")
  }

  private func send(_ pdu: PDU) throws { try socket.enqueue(.binary(try channel.seal(pdu))) }

  private func next() async throws -> PDU? {
    guard let message = try await socket.next() else { return nil }
    guard case .binary(let bytes) = message else { throw Unexpected("text") }
    return try PDU(decoding: try channel.open(Frame(bytes, limits: Frame.Limits())))
  }

  /// Waits for the end.
  func farewell() async throws -> Farewell {
    var farewell = Farewell()
    while let pdu = try await next() {
      if case .redirect(let redirect) = pdu {
        farewell.redirect = String(decoding: redirect.uri, as: UTF8.self)
      }
    }
    if case .closed(let code, _) = socket.end { farewell.code = code }
    return farewell
  }
}
