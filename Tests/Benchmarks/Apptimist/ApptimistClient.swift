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

/// A device of version 1: one session of a user who sends to one recipient.
final class ApptimistClient: WebSocketClient {
  private let user: UserKeys
  private let identity: ServiceIdentity
  private let registers: Bool
  private var recipient: EncryptionPublicKey
  private var channel: HeaderChannel
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
    try super.init(
      port: port, target: "/siren?\(ephemeral.publicKey.hex)", receiveBuffer: receiveBuffer)
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
    send(message: frame)
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

  override func upgraded() {
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

  override func take(_ message: [UInt8]) throws(LoadError) {
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
