internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol
internal import HTTPServer
internal import Platform
internal import WalletClient

/// A service of version 2 that runs a test's script, over real WebSockets and real boxes.
final class ScriptedVersion2Service: Responder {
  typealias Script = @Sendable (ScriptedVersion2Session, Version2.DevicePDU, [UInt8]) -> Void

  let identity: ServiceIdentity
  private let encryption: EncryptionKeyPair
  private let script: Script
  private let keys = Lock<[EncryptionPublicKey]>([])

  init(
    _ encryption: EncryptionKeyPair = .generate(),
    _ authentication: AuthenticationKeyPair = .generate(), _ script: @escaping Script
  ) {
    self.encryption = encryption
    identity = ServiceIdentity(encryption: encryption, authentication: authentication)
    self.script = script
  }

  /// The ephemeral keys of all connections, in order.
  var ephemeralKeys: [EncryptionPublicKey] { keys.withLock { $0 } }

  func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
    guard head.isWebSocketUpgrade, let query = head.query,
      let key = EncryptionPublicKey(hex: String(decoding: query, as: UTF8.self))
    else { return .refuse(Response(.badRequest)) }
    let number = keys.withLock { keys in
      keys.append(key)
      return keys.count
    }
    return .webSocket { [self] _ in
      var acceptance = WebSocketAcceptance { socket in
        let ephemeral = EncryptionKeyPair.generate()
        let handshake = Version2.Handshake(
          with: self.identity, device: key, service: ephemeral.publicKey, offer: .version2)
        return ScriptedVersion2Session(
          number: number, socket, handshake.serviceChannel(self.encryption, ephemeral),
          ephemeral.publicKey, self.script)
      }
      acceptance.subprotocol = Version2.subprotocol
      return .accept(acceptance)
    }
  }
}

/// A connection to a ``ScriptedVersion2Service``, on its loop.
final class ScriptedVersion2Session: WebSocketHandler, @unchecked Sendable {
  // Safe to share: it is used on its loop only.

  /// The number of the connection, from 1 on.
  let number: Int
  let socket: WebSocketSession
  private var channel: Version2.Channel?
  private let script: ScriptedVersion2Service.Script

  init(
    number: Int, _ socket: WebSocketSession, _ channel: consuming Version2.Channel?,
    _ ephemeral: EncryptionPublicKey, _ script: @escaping ScriptedVersion2Service.Script
  ) {
    self.number = number
    self.socket = socket
    self.channel = channel
    self.script = script
    let hello = Version2.Hello(time: 0, headerMax: 4 << 10, dataMax: 1 << 20, pageMax: 100)
    if let first = self.channel?.seal(.hello(hello), behind: ephemeral) {
      socket.send(.binary(first))
    }
  }

  func received(_ message: WebSocketMessage) {
    guard case .binary(let bytes) = message, let clear = channel?.open(bytes[...]),
      let frame = try? Version2.ClearFrame(clear, limits: Frame.Limits()),
      let pdu = try? Version2.DevicePDU(decoding: frame.header)
    else { return socket.close(1008) }
    script(self, pdu, Array(frame.data))
  }

  func closed(_ code: UInt16?) {}

  func send(_ pdu: Version2.ServicePDU, _ data: [UInt8] = [], isTampered: Bool = false) {
    guard var bytes = channel?.seal(pdu, data: data) else { return }
    if isTampered { bytes[bytes.count / 2] ^= 1 }
    socket.send(.binary(bytes))
  }

  func answer(_ pdu: Version2.DevicePDU, _ content: Version2.Answer.Content = .done) {
    send(.answer(Version2.Answer(to: pdu.type, request: pdu.request, .success(content))))
  }

  /// Lets the device in, with a stream behind a position of epoch 1.
  func welcome(_ pdu: Version2.DevicePDU, after position: UInt64 = 0) {
    answer(
      pdu,
      .login(Version2.Start(epoch: 1, first: 1, last: 9, start: position, flags: [])))
  }
}
