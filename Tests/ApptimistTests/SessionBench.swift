internal import ApptimistProtocol
internal import Cryptography
internal import Cluster
internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import Apptimist

extension AccountCredentials {
  init(_ user: TestUser) {
    self.init(isForum: false, authenticationKey: user.authentication.publicKey)
  }
}

/// A session and the device's end of its boxes, without sockets, store or time.
final class Bench {
  let keys = ServiceKeys.generate()
  let user = TestUser("alice")
  var session: DeviceSession
  private var channel: HeaderChannel
  /// The times of all posts that were asked to be queued, in order.
  private(set) var posted: [Int] = []
  /// The same with the numbers that were searched for as names.
  private(set) var done: [Int] = []
  /// The queries that are open.
  private var open: [Query] = []
  /// The most queries that were open at once.
  private(set) var mostAtOnce = 0

  init() throws {
    let ephemeral = EncryptionKeyPair.generate(for: .session)
    let setup = SessionSetup(
      encryption: keys.encryption, identity: keys.identity, ephemeralKey: ephemeral.publicKey,
      uri: "ws://h/siren", limits: SessionLimits(), silence: .seconds(3))
    guard let session = DeviceSession(setup),
      let channel = HeaderChannel(
        own: ephemeral, peer: keys.identity.encryptionKey, dataNonce: keys.identity.dataNonce)
    else { throw TestDevice.Failure(message: "no session") }
    self.session = session
    self.channel = channel
  }

  var isWaiting: Bool { session.isWaiting }

  /// Something that the session wants done, with what it sends opened.
  enum Did: Equatable {
    case sent(PDU)
    case asked(String)
    case joined(EncryptionPublicKey)
    case waits(Duration)
    case closed(UInt16)
  }

  /// The things that were counted, in words.
  private(set) var counted: [String] = []
  /// Whether the socket is slow to take what was sent.
  var isBackedUp = false

  @discardableResult
  func handle(_ event: SessionEvent) throws -> [Did] {
    var did: [Did] = []
    for action in session.handle(event) {
      switch action {
      case .send(let message, let kind):
        counted.append("\(kind)")
        let frame = try Frame(message, limits: Frame.Limits())
        did.append(.sent(try PDU(decoding: try channel.open(frame))))
      case .perform(let query):
        note(query)
        did.append(.asked("\(Mirror(reflecting: query).children.first?.label ?? "\(query)")"))
      case .join(let login): did.append(.joined(login.user))
      case .wait(let duration): did.append(.waits(duration))
      case .close(let code): did.append(.closed(code))
      case .count(let thing): counted.append("\(thing)")
      }
    }
    return did
  }

  func send(_ pdu: PDU, data: [UInt8] = []) throws -> [Did] {
    try send(header: pdu.encoded(), data: data)
  }

  func send(header: [UInt8], data: [UInt8] = []) throws -> [Did] {
    let message = try channel.seal(header: header, data: data[...])
    return try handle(.received(.binary(message)))
  }

  private func note(_ query: Query) {
    open.append(query)
    mostAtOnce = max(mostAtOnce, open.count)
    switch query {
    case .post(let posts, _):
      posted += posts.map { Int($0.message.time) }
      done += posts.map { Int($0.message.time) }
    case .find(.name(let query), _):
      done += query.text.text.flatMap { Int($0) }.map { [$0] } ?? []
    default: break
    }
  }

  func reply(_ reply: SessionReply) throws -> [Did] {
    if isAsking { open.removeFirst().fulfill(reply) }
    return try handle(.replied)
  }

  /// Whether a query is open.
  var isAsking: Bool { !open.isEmpty }

  /// Replies to a post or a search with nothing.
  func replyToAny() throws -> [Did] {
    if case .post? = open.first { try reply(.posted([])) } else { try reply(.found([])) }
  }

  func queue(_ position: Int64, from sender: EncryptionPublicKey) throws -> [Did] {
    let entry = Self.entry(position, from: sender, to: user.key)
    return try handle(.news(.entry(StreamEntry(entry)), isBackedUp: isBackedUp))
  }

  func page(
    _ entries: [MailboxEntry], end: Int64, isLast: Bool = true
  ) throws -> [Did] {
    try handle(
      .read(MailboxPage(entries: entries, end: MailboxPosition(rawValue: end), isLast: isLast)))
  }

  func nextRead() -> Int64? { isBackedUp ? nil : session.nextRead()?.rawValue }

  static func message(
    _ position: Int64, from sender: EncryptionPublicKey, to user: EncryptionPublicKey
  ) -> PDU {
    .message(PDU.Message(time: UInt64(position), recipient: user, to: user, from: sender))
  }

  static func entry(
    _ position: Int64, from sender: EncryptionPublicKey, to user: EncryptionPublicKey
  ) -> MailboxEntry {
    let header = message(position, from: sender, to: user).encoded()
    return MailboxEntry(
      position: MailboxPosition(rawValue: position), id: MessageID(header: header, data: []),
      content: .message(header: header, data: []))
  }

  /// Goes through the login.
  func establish(after position: Int64 = 0) throws {
    _ = try send(user.login())
    _ = try reply(.claimed(true))
    #expect(
      try reply(.account(AccountCredentials(user))) == [.asked("start")])
    #expect(try reply(.started(MailboxPosition(rawValue: position))) == [.joined(user.key)])
  }
}
