internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol
internal import Testing

@testable import Apptimist

/// A session and the device's end of its boxes, without sockets, store or time.
final class Bench {
  let keys = ServiceKeys.generate()
  let user = TestUser("alice")
  var session: Session
  private var channel: HeaderChannel
  /// The times of all posts that were asked to be queued, in order.
  private(set) var posted: [Int] = []
  /// The same with the numbers that were searched for as names.
  private(set) var done: [Int] = []
  /// The questions that are open, and how many were open at once.
  private var open: [Question] = []
  private(set) var mostAtOnce = 0

  init() throws {
    let ephemeral = EncryptionKeyPair.generate(for: .session)
    let setup = Session.Setup(
      keys: keys, ephemeralKey: ephemeral.publicKey, uri: "ws://h/siren", limits: SessionLimits(),
      silence: .seconds(3), note: { _ in })
    guard let session = Session(setup),
      let channel = HeaderChannel(
        own: ephemeral, peer: keys.identity.encryptionKey, dataNonce: keys.identity.dataNonce)
    else { throw TestDevice.Failure(message: "no session") }
    self.session = session
    self.channel = channel
  }

  var isWaiting: Bool { session.isWaiting }

  /// What the session wants done, with what it sends opened.
  enum Did: Equatable {
    case sent(PDU)
    case asked(String)
    case joined(EncryptionPublicKey)
    case waits(Duration)
    case closed(UInt16)
  }

  private func read(_ actions: [SessionAction]) throws -> [Did] {
    var did: [Did] = []
    for action in actions {
      switch action {
      case .send(let message):
        let frame = try Frame(message, limits: Frame.Limits())
        did.append(.sent(try PDU(decoding: try channel.open(frame))))
      case .ask(let question):
        note(question)
        did.append(.asked("\(Mirror(reflecting: question).children.first?.label ?? "\(question)")"))
      case .join(let user): did.append(.joined(user))
      case .wait(let duration): did.append(.waits(duration))
      case .close(let code): did.append(.closed(code))
      }
    }
    return did
  }

  func send(_ pdu: PDU, data: [UInt8] = []) throws -> [Did] {
    try send(header: pdu.encoded(), data: data)
  }

  func send(header: [UInt8], data: [UInt8] = []) throws -> [Did] {
    let message = try channel.seal(header: header, data: data[...])
    return try read(session.received(.binary(message)))
  }

  private func note(_ question: Question) {
    open.append(question)
    mostAtOnce = max(mostAtOnce, open.count)
    switch question {
    case .post(let posts):
      posted += posts.map { Int($0.message.time) }
      done += posts.map { Int($0.message.time) }
    case .searchName(let name, _): done += name.text.flatMap { Int($0) }.map { [$0] } ?? []
    default: break
    }
  }

  func answer(_ answer: Answer) throws -> [Did] {
    if isAsking { open.removeFirst() }
    return try read(session.answered(answer))
  }

  /// Whether a question is open.
  var isAsking: Bool { !open.isEmpty }

  /// Answers a post or a search with nothing.
  func answerAny() throws -> [Did] {
    if case .post? = open.first { try answer(.posted([])) } else { try answer(.found([])) }
  }

  func evict() throws -> [Did] { try read(session.evicted()) }

  func queue(_ position: Int64, from sender: EncryptionPublicKey) throws -> [Did] {
    try read(session.queued(Self.entry(position, from: sender, to: user.key)))
  }

  func page(
    _ entries: [StreamEntry], end: Int64, isLast: Bool = true
  ) throws -> [Did] {
    try read(
      session.read(
        StreamPage(entries: entries, end: StreamPosition(rawValue: end), isLast: isLast)))
  }

  func timeIsOver() throws -> [Did] { try read(session.timeIsOver()) }

  func draining(to uri: String?) throws -> [Did] { try read(session.draining(to: uri)) }

  func begin() throws -> [Did] { try read(session.opened()) }

  func nextRead() -> Int64? { session.nextRead()?.rawValue }

  static func message(
    _ position: Int64, from sender: EncryptionPublicKey, to user: EncryptionPublicKey
  ) -> PDU {
    .message(PDU.Message(time: UInt64(position), recipient: user, to: user, from: sender))
  }

  static func entry(
    _ position: Int64, from sender: EncryptionPublicKey, to user: EncryptionPublicKey
  ) -> StreamEntry {
    let header = message(position, from: sender, to: user).encoded()
    return StreamEntry(
      position: StreamPosition(rawValue: position), id: MessageID(header: header, data: []),
      content: .message(header: header, data: []))
  }

  var account: Account {
    Account(
      key: user.key, authenticationKey: user.authentication.publicKey, name: "alice", uid: "",
      kind: .user)
  }

  /// Goes through the login.
  func establish(after position: Int64 = 0) throws {
    _ = try send(user.login())
    _ = try answer(.claimed(true))
    let did = try answer(.account(account))
    #expect(did == [.joined(user.key), .asked("start")])
    _ = try answer(.started(StreamPosition(rawValue: position)))
  }
}
