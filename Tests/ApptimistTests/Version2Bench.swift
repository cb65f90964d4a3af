internal import ApptimistProtocol
internal import Cryptography
internal import Cluster
internal import HTTPProtocol
internal import Testing

@testable import Apptimist

/// A session of version 2 and the device's end of its boxes, without sockets, store or time.
final class Version2Bench {
  let keys = ServiceKeys.generate()
  let user = TestUser("alice")
  private let ephemeral = EncryptionKeyPair.generate(for: .session)
  private let setup: SessionSetup
  private var session: DeviceSession
  private var channel: Version2.Channel?
  private(set) var handshake: Version2.Handshake?
  private var number: UInt32 = 0

  /// Something that the session wants done, with what it sends opened.
  enum Did: Equatable {
    case sent(Version2.ServicePDU)
    case asked(String)
    case joined(EncryptionPublicKey)
    case waits(Duration)
    case closed(UInt16)
  }

  init() throws {
    setup = SessionSetup(
      encryption: keys.encryption, identity: keys.identity, ephemeralKey: ephemeral.publicKey,
      uri: "ws://h/siren", limits: SessionLimits(), silence: .seconds(3))
    let version2 = Version2Setup(
      ephemeral: .generate(for: .session), offer: .version2, time: 1_700_000_000, pageMax: 100)
    guard let session = DeviceSession(setup, version2) else {
      throw TestDevice.Failure(message: "no session")
    }
    self.session = session
    #expect(try handle(.opened).last == .waits(.seconds(30)))
  }

  var isWaiting: Bool { session.isWaiting }
  /// The query that was asked last.
  private var open: Query?

  @discardableResult
  func handle(_ event: SessionEvent) throws -> [Did] {
    var did: [Did] = []
    for action in session.handle(event) {
      switch action {
      case .send(let message, _): did.append(.sent(try opened(message)))
      case .perform(let query):
        open = query
        did.append(.asked("\(Mirror(reflecting: query).children.first?.label ?? "\(query)")"))
      case .join(let login): did.append(.joined(login.user))
      case .wait(let duration): did.append(.waits(duration))
      case .close(let code): did.append(.closed(code))
      case .count: break
      }
    }
    return did
  }

  private func opened(_ message: [UInt8]) throws -> Version2.ServicePDU {
    var box = message[...]
    if handshake == nil {
      let first = try #require(Version2.FirstMessage(message))
      let handshake = Version2.Handshake(
        with: keys.identity, device: ephemeral.publicKey, service: first.service, offer: .version2)
      self.handshake = handshake
      channel = handshake.deviceChannel(ephemeral, with: keys.identity)
      box = first.box
    }
    guard let frame = channel?.open(box) else {
      throw TestDevice.Failure(message: "a box doesn't open")
    }
    let clear = try Version2.ClearFrame(frame, limits: nil)
    return try #require(try Version2.ServicePDU.decode(clear.header))
  }

  /// Sends a request with the next number, or with none that wants an answer.
  func send(
    _ body: Version2.DevicePDU.Body, data: [UInt8] = [], isAnswered: Bool = true
  ) throws -> [Did] {
    if isAnswered { number += 1 }
    let pdu = Version2.DevicePDU(request: isAnswered ? number : 0, body)
    return try receive(channel?.seal(pdu, data: data))
  }

  /// Sends a header as it is.
  func send(header: [UInt8]) throws -> [Did] {
    try receive(channel?.seal(header: header))
  }

  private func receive(_ message: [UInt8]?) throws -> [Did] {
    guard let message else { throw TestDevice.Failure(message: "no channel") }
    return try handle(.received(.binary(message)))
  }

  func reply(_ reply: SessionReply) throws -> [Did] {
    open?.fulfill(reply)
    return try handle(.replied)
  }

  func answer(
    _ type: UInt8, _ result: Result<Version2.Answer.Content, ErrorCode>, to request: UInt32? = nil
  ) -> Did {
    .sent(.answer(Version2.Answer(to: type, request: request ?? number, result)))
  }

  func login() throws -> Version2.Login {
    let handshake = try #require(handshake)
    return Version2.Login(
      user: user.key, signature: user.authentication.sign(handshake.login(user.key)),
      possession: try #require(handshake.possession(of: user.encryption)),
      device: Version2.DeviceID())
  }

  func new() throws -> Version2.New {
    let handshake = try #require(handshake)
    let key = user.authentication.publicKey
    return Version2.New(
      key: user.key, authenticationKey: key,
      signature: user.authentication.sign(handshake.new(user.key, key)),
      possession: try #require(handshake.possession(of: user.encryption)),
      name: ShortBytes("alice") ?? .empty)
  }

  /// Goes through the login.
  func establish(after position: Int64 = 0) throws {
    #expect(try send(.login(try login())) == [.asked("account")])
    let account = AccountCredentials(
      isForum: false, authenticationKey: user.authentication.publicKey)
    #expect(try reply(.account(account)) == [.asked("begin")])
    let start = MailboxPosition(rawValue: position)
    let did = try reply(
      .began(
        StreamStart(epoch: 9, first: start.next, last: start, start: start, isClosed: false)))
    #expect(did.first == .joined(user.key))
    let place = UInt64(position)
    let beginning = Version2.Start(
      epoch: 9, first: place + 1, last: place, start: place, flags: [])
    #expect(did.last == answer(1, .success(.login(beginning))))
  }

  func message(_ time: UInt64) -> Version2.DevicePDU.Body {
    .message(PDU.Message(time: time, recipient: user.key, to: user.key, from: user.key))
  }

  func queued(_ position: Int64) throws -> [Did] {
    let other = TestUser("bob").key
    return try handle(
      .news(
        .entry(StreamEntry(Bench.entry(position, from: other, to: user.key))), isBackedUp: false))
  }
}
