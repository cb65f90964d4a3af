internal import ApptimistProtocol
internal import Cryptography
internal import Cluster
internal import Fuzzing
internal import HTTPProtocol

@testable import Apptimist

/// Takes these bytes as the events of a session: PDUs in valid boxes, replies, news, pages, timers.
///
/// In any order of them the session asks one query at a time, sends messages that open at the device with the next
/// counter, delivers its stream in order with nothing twice and nothing left out, and does nothing after its end but to
/// have queued the messages that came before.
@main enum SessionFuzzer: Fuzzer {
  static let maximumLength = 2048
  static let options = ["-len_control=0"]

  static func test(_ bytes: [UInt8]) {
    guard var run = SessionRun(bytes) else { return }
    while run.step() {}
    run.finish()
  }
}

/// Keys that are the same in each run.
private enum Keys {
  static let service = encryption(1)
  static let identity = ServiceIdentity(encryption: service, authentication: authentication(2))
  static let ephemeral = encryption(3)
  static let user = encryption(4)
  static let userAuthentication = authentication(5)
  static let other = encryption(6).publicKey

  private static func encryption(_ byte: UInt8) -> EncryptionKeyPair {
    EncryptionKeyPair(secret: [UInt8](repeating: byte, count: 32)) ?? .generate()
  }

  private static func authentication(_ byte: UInt8) -> AuthenticationKeyPair {
    AuthenticationKeyPair(seed: [UInt8](repeating: byte, count: 32)) ?? .generate()
  }
}

/// A session, the device at its other end, and a mailbox in memory.
private struct SessionRun: ~Copyable {
  /// An entry of the mailbox.
  private struct Queued {
    let entry: MailboxEntry
    /// Whether this session made it.
    let isOwn: Bool
  }

  private var script: ArraySlice<UInt8>
  private var session: DeviceSession
  private var hasJoined = false
  private var isLoggedIn: Bool { hasJoined && !session.isOver }
  private var device: HeaderChannel
  private var queue: [Queued] = []
  /// The entries of the mailbox that the device got, by position.
  private var delivered: [Int64] = []
  private var start: Int64?
  private var query: Query?
  private var isBackedUp = false
  /// The positions that the open query has put into the user's own mailbox already, or nil if it was
  /// not dealt with yet.
  private var made: [MailboxPosition]?
  /// The position behind which a page is being read, or nil if none is.
  private var reading: MailboxPosition?
  private var isClosed = false
  private var isRedirected = false

  init?(_ bytes: [UInt8]) {
    script = bytes[...]
    let setup = SessionSetup(
      encryption: Keys.service, identity: Keys.identity, ephemeralKey: Keys.ephemeral.publicKey,
      uri: "ws://localhost/siren", limits: SessionLimits(), silence: .seconds(1))
    guard let session = DeviceSession(setup),
      let device = HeaderChannel(
        own: Keys.ephemeral, peer: Keys.identity.encryptionKey,
        dataNonce: Keys.identity.dataNonce)
    else { return nil }
    self.session = session
    self.device = device
    handle(.opened)
  }

  private mutating func byte() -> UInt8 { script.popFirst() ?? 0 }

  private mutating func bytes(_ count: Int) -> [UInt8] {
    defer { script = script.dropFirst(count) }
    return Array(script.prefix(count))
  }

  // MARK: - What happens

  /// Makes the next thing happen.
  ///
  /// - Returns: false if the script has ended.
  mutating func step() -> Bool {
    guard !script.isEmpty else { return false }
    switch byte() % 17 {
    case 0, 1: receive(header: bytes(Int(byte())), data: bytes(Int(byte() % 32)))
    case 2: receive(typical())
    case 3: receive(.login(login))
    case 4: receive(message)
    case 5: receive(PDU.truncate(PDU.Truncate(message: queue.last?.entry.id ?? MessageID())))
    case 6, 7, 8: reply()
    case 9: append()
    case 10: readPage()
    case 11: isBackedUp.toggle()
    case 12: if !session.isWaiting { handle(.received(.binary(bytes(Int(byte()))))) }
    case 13: receive(byte() % 2 == 0 ? .pause(PDU.Pause()) : .resume(PDU.Resume()))
    case 14: if byte() == 0 { handle(.timedOut) }
    case 16: deal()
    default: endIfAsked(byte())
    }
    return true
  }

  private mutating func endIfAsked(_ byte: UInt8) {
    switch byte {
    case 0: handle(.evicted)
    case 1:
      handle(.draining(to: "ws://elsewhere/siren"))
      isClosed = true
    case 2: if !session.isWaiting { handle(.received(.text([]))) }
    default: break
    }
  }

  private var login: PDU.Login {
    PDU.Login(
      user: Keys.user.publicKey,
      signature: Keys.userAuthentication.sign(Keys.user.publicKey), max: 0, head: MessageID())
  }

  private var message: PDU {
    .message(
      PDU.Message(
        time: UInt64(queue.count), recipient: Keys.user.publicKey, to: Keys.user.publicKey,
        from: Keys.user.publicKey))
  }

  /// A PDU of any type, well-formed.
  private mutating func typical() -> PDU {
    let key = byte() % 2 == 0 ? Keys.user.publicKey : Keys.other
    let text = ShortBytes(bytes(Int(byte() % 16))) ?? .empty
    switch byte() % 12 {
    case 0:
      return .new(
        PDU.New(
          key: key, authenticationKey: Keys.userAuthentication.publicKey, name: text, uid: text,
          token: text))
    case 1: return .del(PDU.Del(key: key))
    case 2: return .vouch(PDU.Vouch(subject: key, signature: Signature()))
    case 3: return .vouchers(PDU.Vouchers(subject: key, vouchers: []))
    case 4: return .searchByName(PDU.SearchByName(maxUsers: 3, text: text))
    case 5: return .searchByUid(PDU.SearchByUid(maxUsers: 3, text: text))
    case 6: return .searchByKey(PDU.SearchByKey(key: key))
    case 7: return .read(PDU.Read(directory: key, filename: text))
    case 8: return .lock(PDU.Lock(directory: key, filename: text))
    case 9: return .write(PDU.Write(directory: key, filename: text))
    case 10: return .remove(PDU.Remove(directory: key, filename: text))
    default: return .user(.nobody)
    }
  }

  private mutating func receive(_ pdu: PDU) { receive(header: pdu.encoded(), data: []) }

  /// Sends something from the device, unless the session waits, for then nothing is received.
  private mutating func receive(header: [UInt8], data: [UInt8]) {
    guard !session.isWaiting, !isClosed,
      let frame = try? device.seal(header: header, data: data[...])
    else { return }
    handle(.received(.binary(frame)))
  }

  /// Does in the store what is asked; the reply is still on its way.
  private mutating func deal() {
    guard made == nil else { return }
    switch query {
    case .post(let posts, _):
      made = posts.filter { $0.message.recipient == Keys.user.publicKey }.map { post in
        queue(
          .message(header: post.header, data: post.data),
          MessageID(header: post.header, data: post.data[...]), isOwn: true)
      }
    case .truncate(let id, _): made = [queue(.truncation, id, isOwn: true)]
    default: break
    }
  }

  /// Replies to the open query: mostly as the store would, else in some other way.
  private mutating func reply() {
    let choice = byte()
    if choice > 1 { deal() }
    guard let query else { return }
    let made = made ?? []
    self.query = nil
    self.made = nil
    switch (query, choice) {
    // It fails.
    case (_, 253...): break
    case (.claim(_, let reply), _): reply.fulfill(choice != 0)
    case (.register(_, let reply), _): reply.fulfill(choice != 0 ? .done : .notPermitted)
    case (.account(_, let reply), _):
      reply.fulfill(
        AccountCredentials(
          isForum: choice == 0, authenticationKey: Keys.userAuthentication.publicKey))
    case (.start(_, let reply), _):
      let position = Int64(choice) % Int64(queue.count + 1)
      start = position
      reply.fulfill(MailboxPosition(rawValue: position))
    case (.post(_, let reply), _):
      reply.fulfill(made.map { .queued(isKnown: false, own: $0, isOwnNew: true) })
    case (.truncate(_, let reply), _):
      reply.fulfill(made.first.map { .first($0) } ?? (choice == 0 ? .never : .again))
    case (.vouchers(_, let reply), _):
      reply.fulfill([EncryptionPublicKey](repeating: Keys.other, count: Int(choice)))
    case (.find(_, let reply), _):
      reply.fulfill(
        [Version2.User](
          repeating: Version2.User(
            key: Keys.other, authenticationKey: Keys.userAuthentication.publicKey, kind: .user,
            flags: [], name: ShortBytes("name") ?? .empty, uid: ShortBytes("uid") ?? .empty),
          count: Int(choice % 4)))
    case (.file(_, let reply), 0...9):
      reply.fulfill(.refused(ErrorCode(rawValue: UInt16(choice % 9))))
    case (.file(_, let reply), _): reply.fulfill(.done(bytes(Int(choice % 64))))
    case (.makeForum(_, let reply), _), (.deleteForum(_, let reply), _),
      (.vouch(_, _, let reply), _), (.revoke(_, let reply), _):
      reply.fulfill(.done)
    default: preconditionFailure("version 1 asks for what version 2 has")
    }
    handle(.replied)
  }

  /// Delivers another session's message, of which this one is told.
  private mutating func append() {
    let header =
      PDU.message(
        PDU.Message(
          time: UInt64(queue.count + 1), recipient: Keys.user.publicKey, to: Keys.user.publicKey,
          from: byte() % 2 == 0 ? Keys.user.publicKey : Keys.other)
      ).encoded()
    queue(.message(header: header, data: []), MessageID(header: header, data: []), isOwn: false)
    if let entry = queue.last?.entry, isLoggedIn {
      handle(.news(.entry(StreamEntry(entry)), isBackedUp: isBackedUp))
    }
  }

  @discardableResult
  private mutating func queue(
    _ content: MailboxEntry.Content, _ id: MessageID, isOwn: Bool
  ) -> MailboxPosition {
    let position = MailboxPosition(rawValue: Int64(queue.count + 1))
    let entry = MailboxEntry(position: position, id: id, content: content)
    queue.append(Queued(entry: entry, isOwn: isOwn))
    return position
  }

  /// Gives the page that the session wants to read, as it is now or as it was.
  private mutating func readPage() {
    guard let position = reading else { return }
    reading = nil
    let most = Int(byte() % 8) + 1
    let rest = queue.dropFirst(Int(position.rawValue)).map(\.entry)
    let entries = Array(rest.prefix(most))
    handle(
      .read(
        MailboxPage(
          entries: entries, end: entries.last?.position ?? position,
          isLast: entries.count == rest.count)))
  }

  // MARK: - What must hold

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
    readOn()
  }

  private mutating func readOn() {
    guard reading == nil, !isClosed, !isBackedUp else { return }
    reading = session.nextRead()
  }

  /// Opens what the device gets.
  private mutating func check(_ message: [UInt8]) {
    precondition(!isRedirected, "something is sent behind the redirect")
    do {
      let frame = try Frame(message, limits: Frame.Limits(header: 2 << 20))
      switch try PDU(decoding: try device.open(frame)) {
      case .message(let message):
        let position = Int64(message.time)
        precondition(position > (delivered.last ?? 0), "out of order, or twice")
        delivered.append(position)
      case .redirect: isRedirected = true
      default: break
      }
    } catch {
      preconditionFailure("the device can't take what the service sends: \(error)")
    }
  }

  /// Gives the device what is left, and checks that it got all that is for it.
  mutating func finish() {
    guard !isClosed, isLoggedIn else { return end() }
    isBackedUp = false
    while query != nil, !isClosed { reply() }
    receive(.resume(PDU.Resume()))
    while query != nil, !isClosed { reply() }
    var turns = 0
    repeat {
      readOn()
      readPage()
      turns += 1
    } while reading != nil && turns < 10_000
    guard !isClosed, isLoggedIn, let start else { return end() }
    let expected = queue.filter {
      guard case .message = $0.entry.content else { return false }
      return !$0.isOwn && $0.entry.position.rawValue > start
    }
    precondition(delivered == expected.map(\.entry.position.rawValue), "something is missing")
    end()
  }

  private mutating func end() {
    handle(.ended)
    isClosed = true
    while query != nil { reply() }
    precondition(session.isOver && session.nextRead() == nil)
  }
}
