internal import ApptimistProtocol
internal import Cryptography
internal import Cluster
internal import Fuzzing
internal import HTTPProtocol

@testable import Apptimist

/// Takes these bytes as a frame and as headers of version 2, and as the events of a session: requests in valid boxes, replies,
/// news.
///
/// A PDU that is taken is written again as it was. In any order of events the session asks one query at a time, what it sends
/// opens at the device with the next counter, each request has one answer at most and in order, positions of the stream
/// rise, and nothing is sent after the close.
@main enum Version2Fuzzer: Fuzzer {
  static let maximumLength = 2048
  static let options = ["-len_control=0"]

  static func test(_ bytes: [UInt8]) {
    checkCodec(bytes)
    guard var run = SessionRun(bytes) else { return }
    while run.step() {}
    run.end()
  }
}

private func checkCodec(_ bytes: [UInt8]) {
  if let pdu = try? Version2.DevicePDU(decoding: bytes[...]) {
    precondition(pdu.encoded() == bytes)
    precondition((try? Version2.DevicePDU(decoding: (bytes + [0])[...])) == nil)
  }
  // What the service sends of itself has the request 0, which devices don't read.
  if let pdu = try? Version2.ServicePDU.decode(bytes[...]), case .message = pdu {
    precondition(pdu.encoded() == bytes.prefix(2) + [0, 0, 0, 0] + bytes.dropFirst(6))
  }
  let limits = Frame.Limits(header: 64, data: 128)
  if let frame = try? Version2.ClearFrame(bytes, limits: limits) {
    precondition(8 + frame.header.count + frame.data.count == bytes.count)
    precondition(frame.header.count <= limits.header && frame.data.count <= limits.data)
  }
  for count in [0, 1, 3] as [UInt16] {
    if let users = Version2.User.list(count, in: bytes[...]) {
      var list: [UInt8] = []
      for user in users { user.append(to: &list) }
      precondition(list == bytes && users.count == Int(count))
    }
    _ = Version2.Voucher.list(count, in: bytes[...])
  }
}

/// Keys that are the same in each run.
private enum Keys {
  static let service = encryption(1)
  static let identity = ServiceIdentity(encryption: service, authentication: authentication(2))
  static let device = encryption(3)
  static let node = encryption(4)
  static let user = encryption(5)
  static let signer = authentication(6)

  private static func encryption(_ byte: UInt8) -> EncryptionKeyPair {
    EncryptionKeyPair(secret: [UInt8](repeating: byte, count: 32)) ?? .generate()
  }

  private static func authentication(_ byte: UInt8) -> AuthenticationKeyPair {
    AuthenticationKeyPair(seed: [UInt8](repeating: byte, count: 32)) ?? .generate()
  }
}

/// A session and the device at its other end.
private struct SessionRun: ~Copyable {
  private var script: ArraySlice<UInt8>
  private var session: DeviceSession
  private var hasJoined = false
  private var isLoggedIn: Bool { hasJoined && !session.isOver }
  private var device: Version2.Channel
  private let handshake: Version2.Handshake
  private var isGreeted = false
  private var query: Query?
  /// The requests that wait for their answers.
  private var waiting: [UInt32] = []
  private var number: UInt32 = 0
  private var position: Int64 = 0
  private var streamed: UInt64 = 0
  private var isClosed = false

  init?(_ bytes: [UInt8]) {
    script = bytes[...]
    let setup = SessionSetup(
      encryption: Keys.service, identity: Keys.identity, ephemeralKey: Keys.device.publicKey,
      uri: "ws://localhost/siren", limits: SessionLimits(), silence: .seconds(1))
    let version2 = Version2Setup(ephemeral: Keys.node, offer: .version2, time: 1, pageMax: 100)
    let handshake = Version2.Handshake(
      with: Keys.identity, device: Keys.device.publicKey, service: Keys.node.publicKey,
      offer: .version2)
    guard let session = DeviceSession(setup, version2),
      let device = handshake.deviceChannel(Keys.device, with: Keys.identity)
    else { return nil }
    self.handshake = handshake
    self.session = session
    self.device = device
    handle(.opened)
  }

  private mutating func byte() -> UInt8 { script.popFirst() ?? 0 }

  private mutating func bytes(_ count: Int) -> [UInt8] {
    defer { script = script.dropFirst(count) }
    return Array(script.prefix(count))
  }

  mutating func step() -> Bool {
    guard !script.isEmpty else { return false }
    switch byte() % 12 {
    case 0: receive(header: [2, byte()] + bytes(Int(byte())), data: bytes(Int(byte() % 32)))
    case 1: login()
    case 2, 3: request(.message(message))
    case 4: request(body())
    case 5, 6, 7: reply()
    case 8: queue()
    case 9: readPage()
    case 10: if !session.isWaiting, !isClosed { handle(.received(.binary(bytes(Int(byte()))))) }
    default: other(byte())
    }
    return true
  }

  private mutating func other(_ byte: UInt8) {
    switch byte {
    case 0: handle(.timedOut)
    case 1: handle(.evicted)
    case 2:
      handle(.draining(to: "ws://elsewhere/siren"))
      isClosed = true
    default: break
    }
  }

  private mutating func login() {
    guard let possession = handshake.possession(of: Keys.user) else { return }
    let user = Keys.user.publicKey
    request(
      .login(
        Version2.Login(
          user: user, signature: Keys.signer.sign(handshake.login(user)), possession: possession,
          device: Version2.DeviceID())))
  }

  private var message: PDU.Message {
    PDU.Message(
      time: UInt64(number), recipient: Keys.user.publicKey, to: Keys.user.publicKey,
      from: Keys.user.publicKey)
  }

  private mutating func body() -> Version2.DevicePDU.Body {
    let key = Keys.user.publicKey
    let text = ShortBytes(bytes(Int(byte() % 16))) ?? .empty
    switch byte() % 12 {
    case 0: return .truncate(PDU.Truncate(message: MessageID()))
    case 1: return .pause
    case 2: return .resume
    case 3: return .ack(Version2.Ack(position: UInt64(byte())))
    case 4: return .vouch(PDU.Vouch(subject: key, signature: Signature()))
    case 5: return .vouchers(Version2.VouchersQuery(subject: key))
    case 6: return .searchByName(Version2.TextQuery(text: text))
    case 7: return .searchByKey(PDU.SearchByKey(key: key))
    case 8: return .read(Version2.FileQuery(directory: key, filename: text))
    case 9: return .write(Version2.FileQuery(directory: key, filename: text))
    case 10: return .del(PDU.Del(key: key))
    default:
      return .new(
        Version2.New(
          key: key, authenticationKey: Keys.signer.publicKey, signature: Signature(),
          possession: Version2.Possession(), name: text))
    }
  }

  private mutating func request(_ body: Version2.DevicePDU.Body) {
    guard !session.isWaiting, !isClosed else { return }
    number += 1
    let wanted = byte() % 8 == 0 ? 0 : number
    if wanted != 0 { waiting.append(wanted) }
    handle(.received(.binary(device.seal(Version2.DevicePDU(request: wanted, body)))))
  }

  private mutating func receive(header: [UInt8], data: [UInt8]) {
    guard !session.isWaiting, !isClosed else { return }
    if header.count >= 6 {
      let wanted = header[2..<6].reduce(0) { $0 << 8 | UInt32($1) }
      if wanted != 0 { waiting.append(wanted) }
    }
    handle(.received(.binary(device.seal(header: header, data: data))))
  }

  private mutating func reply() {
    guard let query else { return }
    self.query = nil
    let choice = byte()
    let outcome = ErrorCode(rawValue: UInt16(choice % 13))
    switch (query, choice) {
    // It fails.
    case (_, 254...): break
    case (.account(_, let reply), _):
      reply.fulfill(
        choice == 0
          ? nil : AccountCredentials(isForum: choice == 1, authenticationKey: Keys.signer.publicKey)
      )
    case (.begin(_, let reply), _):
      let last = MailboxPosition(rawValue: position)
      reply.fulfill(
        choice == 0
          ? nil
          : StreamStart(epoch: 1, first: last.next, last: last, start: last, isClosed: false))
    case (.post(let posts, let reply), _):
      reply.fulfill(
        posts.map { _ in
          guard choice % 3 != 0 else { return .refused(.notPermitted) }
          position += 1
          return .queued(
            isKnown: choice % 2 == 0, own: MailboxPosition(rawValue: position),
            isOwnNew: choice % 4 < 2)
        })
    case (.truncate(_, let reply), _): reply.fulfill(choice % 2 == 0 ? .again : .never)
    case (.truncation(_, let reply), _):
      reply.fulfill(MailboxPosition(rawValue: Int64(choice)))
    case (.file(_, let reply), _):
      reply.fulfill(choice == 0 ? .refused(.locked) : .done(bytes(Int(choice))))
    case (.voucherPage(_, let reply), _):
      reply.fulfill(.success(ListPage(items: [], next: Version2.Cursor())))
    case (.search(_, let reply), _):
      reply.fulfill(.success(ListPage(items: [], next: Version2.Cursor())))
    case (.register(_, let reply), _), (.makeForum(_, let reply), _),
      (.deleteForum(_, let reply), _), (.vouch(_, _, let reply), _), (.revoke(_, let reply), _),
      (.acknowledge(_, _, _, let reply), _), (.push(_, _, _, let reply), _),
      (.exists(_, let reply), _), (.leave(let reply), _), (.join(_, let reply), _):
      reply.fulfill(outcome)
    default: preconditionFailure("version 2 asks for what version 1 has")
    }
    handle(.replied)
  }

  private mutating func queue() {
    guard isLoggedIn else { return }
    position += 1
    handle(.news(.entry(StreamEntry(entry(position))), isBackedUp: byte() % 2 == 0))
  }

  private func entry(_ position: Int64) -> MailboxEntry {
    let header = PDU.message(
      PDU.Message(
        time: UInt64(position) | 1 << 32, recipient: Keys.user.publicKey, to: Keys.user.publicKey,
        from: Keys.device.publicKey)
    ).encoded()
    return MailboxEntry(
      position: MailboxPosition(rawValue: position), id: MessageID(header: header, data: []),
      content: .message(header: header, data: []))
  }

  private mutating func readPage() {
    guard !isClosed, let start = session.nextRead() else { return }
    let end = MailboxPosition(rawValue: max(start.rawValue, position))
    handle(.read(MailboxPage(entries: [], end: end, isLast: true)))
  }

  private mutating func handle(_ event: SessionEvent) {
    for action in session.handle(event) {
      switch action {
      case .perform(let next):
        precondition(query == nil, "two queries are open")
        query = next
      case .close: isClosed = true
      case .count: break
      case _ where isClosed: preconditionFailure("something is sent after the close")
      case .send(let message, _): check(message)
      case .join: hasJoined = true
      case .wait: break
      }
    }
  }

  /// Opens what the device gets.
  private mutating func check(_ message: [UInt8]) {
    defer { isGreeted = true }
    let box = isGreeted ? message[...] : message.dropFirst(32)
    guard let frame = device.open(box), let clear = try? Version2.ClearFrame(frame, limits: nil),
      let pdu = try? Version2.ServicePDU.decode(clear.header)
    else { preconditionFailure("the device can't take what the service sends") }
    switch pdu {
    case .answer(let answer):
      precondition(waiting.first == answer.request, "nobody has asked, or an answer is missing")
      waiting.removeFirst()
    case .message(_, let position), .truncate(_, let position):
      precondition(position > streamed, "out of order, or twice")
      streamed = position
    case .hello: precondition(!isGreeted)
    case .redirect: break
    }
  }

  mutating func end() {
    handle(.ended)
    isClosed = true
    while query != nil { reply() }
    precondition(session.isOver && session.nextRead() == nil)
  }
}
