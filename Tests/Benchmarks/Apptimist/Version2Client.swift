internal import ApptimistProtocol
internal import Cryptography

/// A device of version 2: one session of a user who sends to one recipient, and gets an answer for each message.
final class Version2Client: WebSocketClient {
  private let user: UserKeys
  private let identity: ServiceIdentity
  private var recipient: EncryptionPublicKey
  private let ephemeral = EncryptionKeyPair.generate(for: .session)
  private var channel: Version2.Channel?
  private var handshake: Version2.Handshake?
  private var count: UInt64 = 0
  private var number: UInt32 = 0
  /// The request with whose answer the client is ready.
  private var awaited: UInt32 = 0

  /// Connects, makes an account and logs in.
  ///
  /// - Parameters:
  ///   - port: the server's TCP port on this machine.
  ///   - identity: the service's public keys.
  ///   - user: the user's keys.
  ///   - recipient: the key that it sends to.
  init(
    port: UInt16, identity: ServiceIdentity, user: UserKeys, recipient: EncryptionPublicKey
  ) throws(LoadError) {
    self.user = user
    self.identity = identity
    self.recipient = recipient
    try super.init(
      port: port, target: "/siren?\(ephemeral.publicKey.hex)", subprotocol: Version2.subprotocol)
  }

  override func send(_ data: [UInt8]) {
    count += 1
    send(
      .message(PDU.Message(time: count, recipient: recipient, to: recipient, from: user.key)), data)
  }

  private func send(_ body: Version2.DevicePDU.Body, _ data: [UInt8] = []) {
    number += 1
    if let message = channel?.seal(Version2.DevicePDU(request: number, body), data: data) {
      send(message: message)
    }
  }

  /// Makes a forum with these subscribers, and sends to it from now on.
  func makeForum(_ forum: UserKeys, subscribers: [EncryptionPublicKey]) {
    guard let handshake else { return }
    recipient = forum.key
    isReady = false
    make(forum, handshake)
    send(
      .write(
        Version2.FileQuery(directory: forum.key, filename: Filename(.subscribers).bytes)),
      subscribers.flatMap(\.bytes))
    awaited = number
  }

  private func make(_ account: UserKeys, _ handshake: Version2.Handshake) {
    guard let name = ShortBytes("benchmark"),
      let possession = handshake.possession(of: account.encryption)
    else { return }
    let key = account.authentication.publicKey
    send(
      .new(
        Version2.New(
          key: account.key, authenticationKey: key,
          signature: account.authentication.sign(handshake.new(account.key, key)),
          possession: possession, name: name)))
  }

  private func greeted(_ message: [UInt8]) throws(LoadError) {
    guard let first = Version2.FirstMessage(message) else { throw LoadError("no first message") }
    let handshake = Version2.Handshake(
      with: identity, device: ephemeral.publicKey, service: first.service, offer: .version2)
    channel = handshake.deviceChannel(ephemeral, with: identity)
    self.handshake = handshake
    guard channel?.open(first.box) != nil,
      let possession = handshake.possession(of: user.encryption)
    else { throw LoadError("hello doesn't open") }
    make(user, handshake)
    send(
      .login(
        Version2.Login(
          user: user.key, signature: user.authentication.sign(handshake.login(user.key)),
          possession: possession, device: Version2.DeviceID())))
    awaited = number
  }

  override func take(_ message: [UInt8]) throws(LoadError) {
    guard handshake != nil else { return try greeted(message) }
    guard let frame = channel?.open(message[...]),
      let clear = try? Version2.ClearFrame(frame, limits: nil)
    else { throw LoadError("a frame doesn't open") }
    guard clear.header.dropFirst().first != PDU.Message.type else { return arrived(clear.data) }
    guard let pdu = try? Version2.ServicePDU.decode(clear.header) else { return }
    guard case .answer(let answer) = pdu else { return }
    if case .failure(let error) = answer.result { throw LoadError("error: \(error)") }
    if answer.request == awaited { isReady = true }
  }
}
