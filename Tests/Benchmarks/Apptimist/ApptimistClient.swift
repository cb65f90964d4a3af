internal import ApptimistProtocol
internal import Cryptography
internal import Glibc
internal import HTTPProtocol

/// A user's keys.
struct UserKeys {
  let encryption = EncryptionKeyPair.generate(for: .session)
  let authentication = AuthenticationKeyPair.generate(for: .session)

  var key: EncryptionPublicKey { encryption.publicKey }
}

/// A device: one session of a user who sends to one recipient.
final class ApptimistClient: Client {
  private let user: UserKeys
  private let identity: ServiceIdentity
  private let registers: Bool
  private var recipient: EncryptionPublicKey
  private var channel: HeaderChannel
  private var decoder = WebSocketDecoder(role: .client, maximumMessage: 4 << 20)
  private var response: [UInt8]? = []
  private var mask = UInt32.random(in: 0 ... .max)
  private var count: UInt64 = 0

  /// Connects and logs in.
  ///
  /// - Parameters:
  ///   - port: the server's TCP port on this machine.
  ///   - identity: the service's public keys.
  ///   - user: the user's keys.
  ///   - recipient: the key that it sends to.
  ///   - registers: whether it makes the account first.
  ///   - receiveBuffer: the kernel's receive buffer in bytes, or 0 for its default.
  init(
    port: UInt16, identity: ServiceIdentity, user: UserKeys, recipient: EncryptionPublicKey,
    registers: Bool = true, receiveBuffer: Int32 = 0
  ) throws(LoadError) {
    let ephemeral = EncryptionKeyPair.generate(for: .session)
    guard
      let channel = HeaderChannel(
        own: ephemeral, peer: identity.encryptionKey, dataNonce: identity.dataNonce)
    else { throw LoadError("the service's key is of low order") }
    self.user = user
    self.identity = identity
    self.registers = registers
    self.recipient = recipient
    self.channel = channel
    try super.init(port: port, receiveBuffer: receiveBuffer)
    let request =
      "GET /siren?\(ephemeral.publicKey.hex) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
      + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    outgoing += Array(request.utf8)
  }

  // MARK: - Sending

  override func send(_ data: [UInt8]) {
    count += 1
    let message = PDU.Message(time: count, recipient: recipient, to: recipient, from: user.key)
    send(.message(message), data)
  }

  /// Sends a PDU.
  ///
  /// - Parameters:
  ///   - pdu: the header.
  ///   - data: the data as it stands on the wire.
  func send(_ pdu: PDU, _ data: [UInt8] = []) {
    guard let frame = try? channel.seal(pdu, data: data[...]) else { return }
    mask = mask &* 1_664_525 &+ 1_013_904_223
    WebSocketFrame.append(.binary, frame, mask: mask, to: &outgoing)
    wasAppended()
  }

  /// Makes a forum with these subscribers, and sends to it from now on.
  ///
  /// The client is ready when the write of the list of subscribers has been answered.
  func makeForum(_ forum: UserKeys, subscribers: [EncryptionPublicKey]) {
    guard let name = ShortBytes("benchmark"),
      let key = BoxKey(own: user.encryption, peer: identity.encryptionKey)
    else { return }
    recipient = forum.key
    isReady = false
    send(
      .new(
        PDU.New(
          key: forum.key, authenticationKey: forum.authentication.publicKey, name: name,
          uid: .empty, token: .empty)))
    let list = key.seal(subscribers.flatMap(\.bytes), nonce: identity.dataNonce)
    send(.write(PDU.Write(directory: forum.key, filename: Filename(.subscribers).bytes)), list)
  }

  /// Sends a search. The client is ready when it is answered, as all requests before it are done then.
  func askWhetherReady() {
    isReady = false
    send(.searchByKey(PDU.SearchByKey(key: user.key)))
  }

  private func logIn() {
    if registers, let name = ShortBytes("device") {
      send(
        .new(
          PDU.New(
            key: user.key, authenticationKey: user.authentication.publicKey, name: name,
            uid: name, token: .empty)))
    }
    send(
      .login(
        PDU.Login(
          user: user.key, signature: user.authentication.sign(user.key), max: 0, head: MessageID()))
    )
    // A login is not answered.
    askWhetherReady()
  }

  // MARK: - Receiving

  override func received(_ bytes: ArraySlice<UInt8>) throws(LoadError) {
    var frames = bytes
    if var response {
      response += bytes
      self.response = response
      guard response.count >= 4, let end = Self.end(of: response) else { return }
      guard response.starts(with: Array("HTTP/1.1 101".utf8)) else {
        throw LoadError(String(decoding: response, as: UTF8.self))
      }
      self.response = nil
      frames = response[end...]
      logIn()
    }
    var offset = 0
    while let event = decoder.next(frames.span.bytes, from: &offset) {
      switch event {
      case .message(.binary(let message)): try take(message)
      case .ping(let payload):
        WebSocketFrame.append(.pong, payload, mask: mask, to: &outgoing)
        wasAppended()
      case .close(let code, _): throw LoadError("the service has closed with \(code ?? 1005)")
      case .message(.text), .pong, .violation: throw LoadError("not a frame of the service")
      }
    }
  }

  private static func end(of response: [UInt8]) -> Int? {
    response.indices.dropLast(3).first { response[$0...].starts(with: [13, 10, 13, 10]) }
      .map { $0 + 4 }
  }

  private func take(_ message: [UInt8]) throws(LoadError) {
    guard let frame = try? Frame(message, limits: Frame.Limits()),
      let header = try? channel.open(frame)
    else { throw LoadError("a frame doesn't open") }
    guard header[1] != PDU.Message.type else { return arrived(frame.eData) }
    guard let pdu = try? PDU(decoding: header) else { throw LoadError("a PDU doesn't decode") }
    if case .write(let write) = pdu, write.error != .done {
      throw LoadError("write: \(write.error)")
    }
    isReady = true
  }
}

extension ServiceIdentity {
  /// Fetches the public keys of a service on this machine.
  init(ofServiceAt port: UInt16) throws {
    let client = try Client(port: port)
    defer { close(client.descriptor) }
    _ = fcntl(client.descriptor, F_SETFL, 0)
    let request =
      "GET /siren/service.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    write(client.descriptor, request, request.utf8.count)
    var response: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while case let count = read(client.descriptor, &piece, piece.count), count > 0 {
      response += piece[..<count]
    }
    guard let start = response.firstIndex(of: UInt8(ascii: "{")) else {
      throw LoadError("no service.json")
    }
    self = try ServiceDocument(json: Array(response[start...])).identity
  }
}
