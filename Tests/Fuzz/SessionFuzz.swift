internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol

/// Takes these bytes as what happens to a session: PDUs in valid boxes, answers, news, pages, timers.
/// Whatever it is, the session asks one question at a time, sends what opens at the device with the
/// next counter, delivers its stream in order with nothing twice and nothing left out, and does
/// nothing after its end but to have queued what came before.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSession(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  guard var run = SessionRun(bytes) else { return -1 }
  while run.step() {}
  run.finish()
  return 0
}

/// Keys that are the same in each run.
private enum Keys {
  static let service = ServiceKeys(
    encryption: encryption(1), authentication: authentication(2), storage: SecretBox())
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

/// A session, the device at its other end, and a queue in memory.
private struct SessionRun: ~Copyable {
  /// An entry of the queue.
  private struct Queued {
    let entry: StreamEntry
    /// Whether this session made it.
    let isOwn: Bool
  }

  private var script: ArraySlice<UInt8>
  private var session: Session
  private var device: HeaderChannel
  private var queue: [Queued] = []
  /// Which entries of the queue the device got, by position.
  private var delivered: [Int64] = []
  private var start: Int64?
  private var question: Question?
  /// What the open question has put into the user's own queue already; nil: it wasn't dealt with yet.
  private var made: [StreamPosition]?
  /// The position behind which a page is being read.
  private var reading: StreamPosition?
  private var isClosed = false
  private var isRedirected = false

  init?(_ bytes: [UInt8]) {
    script = bytes[...]
    let setup = Session.Setup(
      keys: Keys.service, ephemeralKey: Keys.ephemeral.publicKey, uri: "ws://localhost/siren",
      limits: SessionLimits(), silence: .seconds(1), note: { _ in })
    guard let session = Session(setup),
      let device = HeaderChannel(
        own: Keys.ephemeral, peer: Keys.service.identity.encryptionKey,
        dataNonce: Keys.service.identity.dataNonce)
    else { return nil }
    self.session = session
    self.device = device
    perform(self.session.opened())
  }

  private mutating func byte() -> UInt8 { script.popFirst() ?? 0 }

  private mutating func bytes(_ count: Int) -> [UInt8] {
    defer { script = script.dropFirst(count) }
    return Array(script.prefix(count))
  }

  // MARK: - What happens

  /// Has the next thing happen.
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
    case 6, 7, 8: answer()
    case 9: append()
    case 10: readPage()
    case 11: session.isBackedUp.toggle()
    case 12: if !session.isWaiting { perform(session.received(.binary(bytes(Int(byte()))))) }
    case 13: receive(byte() % 2 == 0 ? .pause(PDU.Pause()) : .resume(PDU.Resume()))
    case 14: if byte() == 0 { perform(session.timeIsOver()) }
    case 16: deal()
    default: endIfAsked(byte())
    }
    return true
  }

  private mutating func endIfAsked(_ byte: UInt8) {
    switch byte {
    case 0: perform(session.evicted())
    case 1:
      perform(session.draining(to: "ws://elsewhere/siren"))
      isClosed = true
    case 2: if !session.isWaiting { perform(session.received(.text([]))) }
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
    case 4: return .searchByName(PDU.SearchByName(maxUsers: 3, name: text))
    case 5: return .searchByUid(PDU.SearchByUid(maxUsers: 3, uid: text))
    case 6: return .searchByKey(PDU.SearchByKey(key: key))
    case 7: return .read(PDU.Read(directory: key, filename: text))
    case 8: return .lock(PDU.Lock(directory: key, filename: text))
    case 9: return .write(PDU.Write(directory: key, filename: text))
    case 10: return .remove(PDU.Remove(directory: key, filename: text))
    default: return .user(.nobody)
    }
  }

  private mutating func receive(_ pdu: PDU) { receive(header: pdu.encoded(), data: []) }

  /// The device sends something; not while a question is open, for then nothing is received.
  private mutating func receive(header: [UInt8], data: [UInt8]) {
    guard !session.isWaiting, !isClosed,
      let frame = try? device.seal(header: header, data: data[...])
    else { return }
    perform(session.received(.binary(frame)))
  }

  /// The store does what is asked; the answer is still on its way.
  private mutating func deal() {
    guard made == nil else { return }
    switch question {
    case .post(let posts):
      made = posts.filter { $0.message.recipient == Keys.user.publicKey }.map { post in
        queue(
          .message(header: post.header, data: post.data),
          MessageID(header: post.header, data: post.data[...]), isOwn: true)
      }
    case .truncate(let id, _): made = [queue(.truncation, id, isOwn: true)]
    default: break
    }
  }

  /// Answers the open question: mostly as the store would, else in some other way.
  private mutating func answer() {
    let choice = byte()
    if choice > 1 { deal() }
    guard let question else { return }
    let made = made ?? []
    self.question = nil
    self.made = nil
    let answer: Answer
    switch (question, choice) {
    case (_, 255): answer = .failed
    case (_, 254): answer = .done
    case (_, 253): answer = .found([])
    case (.claim, _): answer = .claimed(choice != 0)
    case (.register, _): answer = .registered(choice != 0)
    case (.account(let key), _):
      answer = .account(
        choice == 0
          ? nil
          : Account(
            key: key, authenticationKey: Keys.userAuthentication.publicKey, name: "name", uid: "",
            kind: choice == 1 ? .forum(author: Keys.other) : .user))
    case (.start, _):
      let position = Int64(choice) % Int64(queue.count + 1)
      start = position
      answer = .started(StreamPosition(rawValue: position))
    case (.post, _): answer = .posted(made)
    case (.truncate, _):
      answer = .truncated(made.first.map { .first($0) } ?? (choice == 0 ? .never : .again))
    case (.vouchers, _):
      answer = .vouchers([EncryptionPublicKey](repeating: Keys.other, count: Int(choice)))
    case (.searchName, _), (.searchUid, _), (.searchKey, _):
      answer = .found(
        [FoundAccount](
          repeating: FoundAccount(key: Keys.other, name: "name", uid: "uid"), count: Int(choice % 4)
        ))
    case (.file, 0...9):
      answer = .file(.refused(ErrorCode(rawValue: UInt16(choice % 9))))
    case (.file, _): answer = .file(.done(bytes(Int(choice % 64))))
    default: answer = .done
    }
    perform(session.answered(answer))
  }

  /// Another session's message is queued, and this one is told.
  private mutating func append() {
    let header =
      PDU.message(
        PDU.Message(
          time: UInt64(queue.count + 1), recipient: Keys.user.publicKey, to: Keys.user.publicKey,
          from: byte() % 2 == 0 ? Keys.user.publicKey : Keys.other)
      ).encoded()
    queue(.message(header: header, data: []), MessageID(header: header, data: []), isOwn: false)
    if let entry = queue.last?.entry, session.user != nil { perform(session.queued(entry)) }
  }

  @discardableResult
  private mutating func queue(
    _ content: StreamEntry.Content, _ id: MessageID, isOwn: Bool
  ) -> StreamPosition {
    let position = StreamPosition(rawValue: Int64(queue.count + 1))
    let entry = StreamEntry(position: position, id: id, content: content)
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
    perform(
      session.read(
        StreamPage(
          entries: entries, end: entries.last?.position ?? position,
          isLast: entries.count == rest.count)))
  }

  // MARK: - What must hold

  private mutating func perform(_ actions: [SessionAction]) {
    for action in actions {
      switch action {
      case .ask(let next):
        precondition(question == nil, "two questions are open")
        question = next
      case .close: isClosed = true
      case _ where isClosed: preconditionFailure("something is sent after the close")
      case .send(let message): check(message)
      case .join: precondition(session.user != nil)
      case .wait: break
      }
    }
    if session.request == nil { (question, made) = (nil, nil) }
    if reading == nil, !isClosed, let position = session.nextRead() { reading = position }
  }

  /// The device takes what it gets.
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

  /// Lets the device have what is left, and looks whether it got all that is for it.
  mutating func finish() {
    guard !isClosed, session.user != nil else { return end() }
    session.isBackedUp = false
    while question != nil, !isClosed { answer() }
    receive(.resume(PDU.Resume()))
    while question != nil, !isClosed { answer() }
    var turns = 0
    repeat {
      perform([])
      readPage()
      turns += 1
    } while reading != nil && turns < 10_000
    guard !isClosed, session.user != nil, let start else { return end() }
    let expected = queue.filter {
      guard case .message = $0.entry.content else { return false }
      return !$0.isOwn && $0.entry.position.rawValue > start
    }
    precondition(delivered == expected.map(\.entry.position.rawValue), "something is missing")
    end()
  }

  private mutating func end() {
    session.ended()
    isClosed = true
    while question != nil { answer() }
    precondition(session.isOver && session.nextRead() == nil)
  }
}
