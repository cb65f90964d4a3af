internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol
internal import HTTPServer
internal import Platform
internal import WalletClient

/// A service that runs a test's script, over real WebSockets and real boxes.
final class ScriptedService: Responder {
  typealias Script = @Sendable (ScriptedSession, PDU, [UInt8]) -> Void

  let encryption: EncryptionKeyPair
  let identity: ServiceIdentity
  /// The service as a device pins it that doesn't know which versions it speaks.
  var pin: ServicePin { ServicePin(identity, versions: .either) }
  private let script: Script
  private let keys = Lock<[EncryptionPublicKey]>([])
  private let pdus = Lock<[PDU]>([])

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
  /// All PDUs that came.
  var received: [PDU] { pdus.withLock { $0 } }

  func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
    guard head.isWebSocketUpgrade, let query = head.query,
      let key = EncryptionPublicKey(hex: String(decoding: query, as: UTF8.self))
    else { return .refuse(Response(.badRequest)) }
    let number = keys.withLock { keys in
      keys.append(key)
      return keys.count
    }
    return .webSocket { [self] _ in
      .accept(
        WebSocketAcceptance { socket in
          ScriptedSession(
            number: number, socket,
            HeaderChannel(own: self.encryption, peer: key, dataNonce: self.identity.dataNonce)
          ) { session, pdu, data in
            self.pdus.withLock { $0.append(pdu) }
            self.script(session, pdu, data)
          }
        })
    }
  }
}

/// A connection to a ``ScriptedService``, on its loop.
final class ScriptedSession: WebSocketHandler, @unchecked Sendable {
  // Safe to share: it is used on its loop only.

  /// The number of the connection, from 1 on.
  let number: Int
  let socket: WebSocketSession
  private var channel: HeaderChannel?
  private let script: ScriptedService.Script
  private(set) var user = EncryptionPublicKey()

  init(
    number: Int, _ socket: WebSocketSession, _ channel: consuming HeaderChannel?,
    _ script: @escaping ScriptedService.Script
  ) {
    self.number = number
    self.socket = socket
    self.channel = channel
    self.script = script
  }

  func received(_ message: WebSocketMessage) {
    guard case .binary(let bytes) = message,
      let frame = try? Frame(bytes, limits: Frame.Limits()),
      let header = try? channel?.open(frame), let pdu = try? PDU(decoding: header)
    else { return socket.close(1008) }
    if case .login(let login) = pdu { user = login.user }
    script(self, pdu, Array(frame.eData))
  }

  func closed(_ code: UInt16?) {}

  func send(_ pdu: PDU, _ data: [UInt8] = []) {
    if let bytes = try? channel?.seal(pdu, data: data[...]) { socket.send(.binary(bytes)) }
  }

  /// Replies to a search for a key.
  func find(_ key: EncryptionPublicKey) {
    send(.user(PDU.User(count: 0, key: key, name: .empty, uid: .empty)))
  }
}
