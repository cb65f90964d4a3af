internal import ApptimistProtocol
internal import Cryptography
internal import Testing
internal import HTTPClient

@testable import WalletClient

/// The rules by which messages are sealed, opened and believed, and services followed.
@Suite struct ApptimistRulesTests {
  private let ann = DeviceKeys.generate()
  private let bob = DeviceKeys.generate()
  private let forum = DeviceKeys.generate()
  private let service = ServiceIdentity(encryption: .generate(), authentication: .generate())

  private func account(
    _ keys: DeviceKeys, kind: Version2.User.Kind? = .user, isClosed: Bool = false,
    isEscrowed: Bool = false, hasSealed: Bool = false
  ) -> KnownAccount {
    var account = KnownAccount(keys.user)
    account.kind = kind
    account.authenticationKey = kind.map { _ in keys.authentication.publicKey }
    (account.isClosed, account.isEscrowed) = (isClosed, isEscrowed)
    account.hasSealed = hasSealed
    return account
  }

  private func seal(
    to recipient: KnownAccount, told: Bool = false, isVersion1: Bool = false, time: UInt64 = 7
  ) throws -> OutgoingMessage {
    let participant = try #require(Participant(ann, at: service))
    let sealing = MessageSealing(
      participant: participant, recipient: recipient, isVersion1: isVersion1)
    return try sealing.seal([1, 2, 3], time: time, readsVersion1Only: told)
  }

  /// Opens a message of Ann's at Bob's device.
  private func open(
    _ box: [UInt8], to: EncryptionPublicKey, time: UInt64 = 7, author: KnownAccount? = nil,
    recipient: KnownAccount? = nil, own: KnownAccount? = nil, pair: EncryptionKeyPair? = nil,
    takesDoubtful: Bool = false
  ) throws -> OpenedMessage {
    let header = PDU.Message(time: time, recipient: bob.user, to: to, from: ann.user)
    let message = DeviceMessage(
      header, data: box[...], id: MessageID(of: header, data: box[...]), cursor: DeviceCursor())
    let opening = MessageOpening(
      participant: try #require(Participant(bob, at: service)), forum: pair,
      author: author ?? account(ann), recipient: recipient ?? account(forum, kind: .forum),
      own: own ?? account(bob))
    return try opening.open(message, takesDoubtful: takesDoubtful)
  }

  @Test func sealsInVersion1OnlyWhereNothingSpeaksAgainstIt() throws {
    let sealed = try seal(to: account(bob))
    #expect(sealed.protection == .sealed)
    #expect(OutgoingMessage(stored: sealed.stored) == sealed)
    #expect(OutgoingMessage(stored: Array(sealed.stored.prefix(105))) == nil)
    #expect(try seal(to: account(bob), told: true).protection == .version1)
    #expect(try seal(to: account(bob, isClosed: true), told: true).protection == .sealed)
    #expect(try seal(to: account(bob, hasSealed: true), told: true).protection == .sealed)
    #expect(try seal(to: account(bob, kind: nil), isVersion1: true).protection == .version1)
    let open = account(forum, kind: .forum)
    #expect(try seal(to: open).protection == .signed)
    #expect(try seal(to: open, told: true).protection == .version1)
    let escrowed = account(forum, kind: .forum, isEscrowed: true)
    #expect(try seal(to: escrowed, told: true).protection == .signed)
    let closed = account(forum, kind: .forum, isClosed: true)
    #expect(try seal(to: closed, told: true).protection == .signed)
  }

  @Test func aMessageOpensForItsReaderAlone() throws {
    let box = try seal(to: account(bob)).box
    #expect(
      try open(box, to: bob.user) == OpenedMessage(data: [1, 2, 3], protection: .sealed))
    #expect(throws: DeviceError.doesNotOpen) { try open(box, to: bob.user, time: 8) }
    #expect(throws: DeviceError.doesNotOpen) { try open(box, to: forum.user) }
    for index in box.indices {
      var changed = box
      changed[index] ^= 1
      #expect(throws: DeviceError.doesNotOpen) { try open(changed, to: bob.user) }
      #expect(throws: DeviceError.doesNotOpen) { try open(Array(box[..<index]), to: bob.user) }
    }
  }

  @Test func aPostIsItsAuthors() throws {
    let box = try seal(to: account(forum, kind: .forum)).box
    let pair = forum.encryption
    #expect(
      try open(box, to: forum.user, pair: pair)
        == OpenedMessage(data: [1, 2, 3], protection: .signed))
    #expect(throws: DeviceError.doesNotOpen) { try open(box, to: forum.user) }
    // The key that was seen first counts.
    var changed = account(ann)
    changed.authenticationKey = bob.authentication.publicKey
    #expect(throws: DeviceError.forged) {
      try open(box, to: forum.user, author: changed, pair: pair)
    }
    #expect(throws: DeviceError.forged) {
      try open(box, to: forum.user, author: account(ann, kind: nil), pair: pair)
    }
  }

  /// The service's copy of a post, or what who knows the forum's secret makes.
  @Test func aPostWithoutASignature() throws {
    func made(_ kind: Version2.Sealing.Kind) throws -> [UInt8] {
      let header = PDU.Message(time: 7, recipient: bob.user, to: forum.user, from: ann.user)
      let sealing = Version2.Sealing(kind, of: header, at: service.encryptionKey)
      let plain = Version2.SignedContent([5], signature: Signature()).bytes
      let sender = kind == .copy ? forum : ann
      return try #require(sealing.seal(plain, with: sender.encryption, fresh: .generate()))
    }
    let pair = forum.encryption
    #expect(
      try open(try made(.copy), to: forum.user)
        == OpenedMessage(data: [5], protection: .unsigned))
    #expect(throws: DeviceError.forged) {
      try open(try made(.copy), to: forum.user, author: account(ann, isClosed: true))
    }
    #expect(throws: DeviceError.forged) {
      let closed = account(forum, kind: .forum, isClosed: true)
      return try open(try made(.copy), to: forum.user, recipient: closed)
    }
    #expect(throws: DeviceError.forged) {
      try open(try made(.post), to: forum.user, pair: pair)
    }
  }

  @Test func version1sBoxAfterTheClosing() throws {
    let box = try seal(to: account(bob, kind: nil), isVersion1: true).box
    let closed = account(ann, isClosed: true)
    #expect(
      try open(box, to: bob.user) == OpenedMessage(data: [1, 2, 3], protection: .version1))
    #expect(throws: DeviceError.doubtful) { try open(box, to: bob.user, author: closed) }
    #expect(
      try open(box, to: bob.user, author: closed, takesDoubtful: true).protection == .doubtful)
    // A copy in a forum whose secret the service holds.
    let key = try #require(BoxKey(own: forum.encryption, peer: bob.user))
    let copy = key.seal([4], nonce: service.dataNonce)
    let escrowed = account(forum, kind: .forum, isEscrowed: true)
    #expect(
      try open(copy, to: forum.user, author: closed, recipient: escrowed)
        == OpenedMessage(data: [4], protection: .unsigned))
    #expect(throws: DeviceError.doubtful) {
      try open(
        copy, to: forum.user, author: closed, recipient: escrowed,
        own: account(bob, isClosed: true))
    }
    #expect(throws: DeviceError.doubtful) {
      try open(copy, to: forum.user, author: closed)
    }
  }

  @Test func aPostComesOnce() {
    let posts = RecentPosts(limit: 2)
    func post(_ time: UInt64, _ data: [UInt8]) -> DeviceMessage {
      let header = PDU.Message(time: time, recipient: bob.user, to: forum.user, from: ann.user)
      return DeviceMessage(
        header, data: data[...], id: MessageID(of: header, data: data[...]), cursor: DeviceCursor())
    }
    let outcomes = [
      posts.insert(post(1, [1]), [9]), posts.insert(post(1, [1]), [9]),
      posts.insert(post(1, [2]), [9]), posts.insert(post(2, [2]), [9]),
      posts.insert(post(1, [2]), [8]), posts.insert(post(1, [2]), [9]),
    ]
    // The last one's first was forgotten.
    #expect(outcomes == [true, true, false, true, true, true])
  }

  @Test func whatWasSeenStays() throws {
    var known = KnownAccounts([account(ann, isClosed: true)])
    let user = Version2.User(
      key: ann.user, authenticationKey: bob.authentication.publicKey, kind: .user, flags: [],
      name: .empty, uid: .empty)
    let news = known.record(DeviceUser(user))
    #expect(news == nil)
    #expect(known[ann.user] == account(ann, isClosed: true))
    let sealed = known.recordSealed(ann.user)
    var learned = try #require(sealed)
    let again = known.recordSealed(ann.user)
    #expect(learned.hasSealed && learned.isClosed && again == nil)
    #expect(KnownAccount(text: learned.text) == learned)
    learned = KnownAccount(bob.user)
    #expect(KnownAccount(text: learned.text) == learned)
    for text in ["", "x - 1 0", "\(bob.user.hex) - 1", "\(bob.user.hex) - 1 8"] {
      #expect(KnownAccount(text: text) == nil)
    }
  }

  @Test func aPlaceIsReadAsItWasWritten() {
    let cursor = DeviceCursor(head: MessageID(header: [1], data: []))
    #expect(DeviceCursor(text: cursor.text) == cursor)
    for text in ["", "0 0 0 0", cursor.text + " ", String(cursor.text.dropLast())] {
      #expect(DeviceCursor(text: text) == nil)
    }
  }

  @Test(arguments: [
    ("wss://b/siren", true), ("ws://b/siren", false), ("wss://b/siren?x", false),
    ("wss://u@b/", false), ("wss://b/#f", false), ("https://b/", false),
    ("wss://b/" + String(repeating: "x", count: 2_041), false),
  ]) func redirectsToFollow(_ text: String, _ isFollowed: Bool) throws {
    let current = try #require(WebSocketURL("wss://a/siren"))
    var redirections = Redirections()
    #expect((redirections.follow(text, from: current, at: .now) != nil) == isFollowed)
  }

  @Test func tooManyRedirects() throws {
    let current = try #require(WebSocketURL("ws://a/siren"))
    var redirections = Redirections()
    let now = ContinuousClock.now
    for _ in 0..<5 { #expect(redirections.follow("ws://b/", from: current, at: now) != nil) }
    let few = redirections.areTooMany(at: now)
    _ = redirections.follow("ws://b/", from: current, at: now)
    let many = redirections.areTooMany(at: now)
    let later = redirections.areTooMany(at: now + .seconds(61))
    #expect(!few && many && !later)
  }

  @Test func comesBackAndGivesUp() throws {
    let (home, away) = (
      try #require(WebSocketURL("ws://a/")), try #require(WebSocketURL("ws://b/"))
    )
    func step(
      _ reconnection: inout Reconnection, _ end: Reconnection.End, _ wasEstablished: Bool = false
    ) -> Reconnection.Step {
      reconnection.next(
        after: end, wasEstablished: wasEstablished, lasting: .seconds(2), at: .now)
    }
    var reconnection = Reconnection(home, DeviceOptions())
    #expect(step(&reconnection, .redirected(away), true) == .connect(away, after: .zero))
    guard case .connect(home, _) = step(&reconnection, .broken) else {
      Issue.record("it stays away")
      return
    }
    #expect(step(&reconnection, .crowdedOut) == .connect(home, after: .seconds(60)))
    // It was let in before: it asks three times.
    for _ in 0..<2 {
      guard case .connect(home, _) = step(&reconnection, .refused(.refused)) else {
        Issue.record("it gave up")
        return
      }
    }
    #expect(step(&reconnection, .refused(.refused)) == .giveUp(.refused))
    reconnection = Reconnection(home, DeviceOptions())
    #expect(step(&reconnection, .refused(.refused)) == .giveUp(.refused))
  }

  /// Only a statement signed by the pinned service rules version 1 out.
  @Test func aPinOfADocument() throws {
    let authentication = AuthenticationKeyPair.generate()
    let identity = ServiceIdentity(encryption: .generate(), authentication: authentication)
    let document = ServiceDocument(service: "s", identity: identity, signedWith: authentication)
    #expect(ServicePin(document).versions == .version2)
    #expect(ServicePin(ServiceDocument(service: "s", identity: identity)).versions == .either)
  }
}
