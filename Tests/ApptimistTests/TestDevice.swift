internal import ApptimistProtocol
internal import Cryptography
internal import Foundation
internal import HTTPProtocol
internal import Testing
internal import TestSupport

/// A user's keys.
struct TestUser: Sendable {
  let encryption = EncryptionKeyPair.generate(for: .session)
  let authentication = AuthenticationKeyPair.generate(for: .session)
  let name: String

  init(_ name: String = "somebody") { self.name = name }

  var key: EncryptionPublicKey { encryption.publicKey }

  func new(uid: String = "", token: String = "") throws -> PDU {
    .new(
      PDU.New(
        key: key, authenticationKey: authentication.publicKey,
        name: try #require(ShortBytes(name)), uid: try #require(ShortBytes(uid)),
        token: try #require(ShortBytes(token))))
  }

  func login(max: UInt16 = 0, head: MessageID = MessageID()) -> PDU {
    .login(PDU.Login(user: key, signature: authentication.sign(key), max: max, head: head))
  }

  /// Makes a message to a user or forum, with the text boxed for it.
  func message(
    _ text: String, to: EncryptionPublicKey, time: UInt64 = 0, identity: ServiceIdentity
  ) throws -> (pdu: PDU, data: [UInt8]) {
    let box = try #require(BoxKey(own: encryption, peer: to))
    return (
      .message(PDU.Message(time: time, recipient: to, to: to, from: key)),
      box.seal(Array(text.utf8), nonce: identity.dataNonce)
    )
  }
}

/// A device's connection, in the words of the protocol.
final class TestDevice: @unchecked Sendable {
  // Safe to share: each test uses its own, from one task at a time.
  let user: TestUser
  let socket: TestSocket
  private let identity: ServiceIdentity
  private var channel: HeaderChannel
  let ephemeral: EncryptionKeyPair

  /// Something that came.
  enum Event: Equatable {
    case pdu(PDU, data: [UInt8])
    case closed(UInt16?)
    case ended
  }

  struct Failure: Error {
    let message: String
  }

  init(
    _ user: TestUser, to server: TestServer, ephemeral: EncryptionKeyPair? = nil
  ) throws {
    self.user = user
    self.ephemeral = ephemeral ?? .generate(for: .session)
    identity = server.identity
    socket = try TestSocket(
      port: server.port, target: "/siren?\(self.ephemeral.publicKey.hex)")
    guard socket.status == 101 else { throw Failure(message: "\(socket.status)") }
    let channel = HeaderChannel(
      own: self.ephemeral, peer: identity.encryptionKey, dataNonce: identity.dataNonce)
    guard let channel else { throw Failure(message: "no channel") }
    self.channel = channel
  }

  /// Connects, makes the account, and logs in.
  static func established(
    _ user: TestUser, on server: TestServer, max: UInt16 = 0, head: MessageID = MessageID()
  ) async throws -> TestDevice {
    let device = try TestDevice(user, to: server)
    try device.send(try user.new())
    try device.send(user.login(max: max, head: head))
    try await device.settle()
    return device
  }

  func send(_ pdu: PDU, data: [UInt8] = []) throws {
    try socket.send(.binary, try channel.seal(pdu, data: data[...]))
  }

  func send(header: [UInt8], data: [UInt8] = []) throws {
    try socket.send(.binary, try channel.seal(header: header, data: data[...]))
  }

  @discardableResult
  func send(_ text: String, to: EncryptionPublicKey, time: UInt64 = 0) throws -> MessageID {
    let (pdu, data) = try user.message(text, to: to, time: time, identity: identity)
    try send(pdu, data: data)
    return MessageID(header: pdu.encoded(), data: data[...])
  }

  func next() async throws -> Event {
    switch try await socket.next() {
    case .closed(let code): return .closed(code)
    case .ended: return .ended
    case .text: throw Failure(message: "text")
    case .binary(let message):
      let frame = try Frame(message, limits: Frame.Limits(header: 2 << 20, data: 2 << 20))
      return .pdu(try PDU(decoding: try channel.open(frame)), data: Array(frame.eData))
    }
  }

  /// The next PDU and its data.
  func nextPDU() async throws -> (pdu: PDU, data: [UInt8]) {
    let event = try await next()
    guard case .pdu(let pdu, let data) = event else { throw Failure(message: "\(event)") }
    return (pdu, data)
  }

  /// The next message of the stream, opened.
  func nextText() async throws -> String {
    let (pdu, data) = try await nextPDU()
    guard case .message(let message) = pdu else { throw Failure(message: "\(pdu)") }
    // From a forum whose secret the service has, the forum is the sender.
    let sender = message.to == user.key ? message.from : message.to
    let box = try #require(BoxKey(own: user.encryption, peer: sender))
    let text = try #require(box.open(data, nonce: identity.dataNonce))
    return String(decoding: text, as: UTF8.self)
  }

  /// Waits until all that was sent so far has been dealt with: replies keep the order.
  func settle() async throws {
    let events = try await eventsUntilReply()
    if !events.isEmpty { throw Failure(message: "\(events.count) PDUs came before the reply") }
  }

  /// Takes the PDUs that come until all that was sent so far has been dealt with.
  func eventsUntilReply() async throws -> [(pdu: PDU, data: [UInt8])] {
    try send(.searchByUid(PDU.SearchByUid(maxUsers: 1, text: try #require(ShortBytes("?")))))
    var events: [(pdu: PDU, data: [UInt8])] = []
    while true {
      let event = try await nextPDU()
      if event.pdu == .user(.nobody) { return events }
      events.append(event)
    }
  }

  // MARK: Files

  /// Sends a request about a file, and waits for the reply.
  func file(
    _ request: PDU, content: String? = nil
  ) async throws -> (error: ErrorCode, content: String) {
    let box = try #require(BoxKey(own: user.encryption, peer: identity.encryptionKey))
    try send(
      request, data: content.map { box.seal(Array($0.utf8), nonce: identity.dataNonce) } ?? [])
    let (pdu, data) = try await nextPDU()
    let error: ErrorCode
    switch (request, pdu) {
    case (.read(let asked), .read(let answer)):
      error = answer.error
      #expect(answer == asked.reply(error))
    case (.lock(let asked), .lock(let answer)):
      error = answer.error
      #expect(answer == asked.reply(error))
    case (.write(let asked), .write(let answer)):
      error = answer.error
      #expect(answer == asked.reply(error))
    case (.remove(let asked), .remove(let answer)):
      error = answer.error
      #expect(answer == asked.reply(error))
    default: throw Failure(message: "\(pdu)")
    }
    let text = data.isEmpty ? [] : try #require(box.open(data, nonce: identity.dataNonce))
    return (error, String(decoding: text, as: UTF8.self))
  }

  func read(_ name: String, in directory: EncryptionPublicKey) async throws
    -> (error: ErrorCode, content: String)
  {
    try await file(
      .read(PDU.Read(directory: directory, filename: try #require(ShortBytes(name)))))
  }

  func lock(_ name: String, in directory: EncryptionPublicKey) async throws
    -> (error: ErrorCode, content: String)
  {
    try await file(
      .lock(PDU.Lock(directory: directory, filename: try #require(ShortBytes(name)))))
  }

  @discardableResult
  func write(
    _ content: String, to name: String, in directory: EncryptionPublicKey
  ) async throws -> ErrorCode {
    try await file(
      .write(PDU.Write(directory: directory, filename: try #require(ShortBytes(name)))),
      content: content
    ).error
  }

  /// Writes a list of keys, or other bytes.
  @discardableResult
  func write(
    bytes: [UInt8], to name: String, in directory: EncryptionPublicKey
  ) async throws -> ErrorCode {
    let box = try #require(BoxKey(own: user.encryption, peer: identity.encryptionKey))
    try send(
      .write(PDU.Write(directory: directory, filename: try #require(ShortBytes(name)))),
      data: box.seal(bytes, nonce: identity.dataNonce))
    guard case .write(let answer) = try await nextPDU().pdu else { throw Failure(message: name) }
    return answer.error
  }

  func remove(_ name: String, in directory: EncryptionPublicKey) async throws -> ErrorCode {
    try await file(
      .remove(PDU.Remove(directory: directory, filename: try #require(ShortBytes(name))))
    ).error
  }
}
