internal import ApptimistProtocol
internal import Cryptography
internal import HTTPServer
internal import Storage
internal import Synchronization
internal import Testing
internal import TestSupport

@testable import Apptimist

/// A device that talks at random until its connection ends.
private final class Chatter: @unchecked Sendable {
  // Safe to share: one task at a time uses it.
  let user: TestUser
  private let server: TestServer
  private let number: Int
  private var generator: SeededGenerator
  private let device: TestDevice
  private var received: [MessageID] = []
  /// The messages that it sent, by recipient, in order.
  private(set) var sent: [EncryptionPublicKey: [MessageID]] = [:]
  /// The number of these that were dealt with before a later request was replied to.
  private(set) var acknowledged: [EncryptionPublicKey: Int] = [:]
  private(set) var truncated: Set<MessageID> = []
  private(set) var isRedirected = false
  /// The end of the connection.
  private(set) var end: TestDevice.Event?

  init(_ user: TestUser, on server: TestServer, number: Int, seed: UInt64) async throws {
    self.user = user
    self.server = server
    self.number = number
    generator = SeededGenerator(seed: seed &+ UInt64(number) &* 7919)
    device = try await TestDevice.established(user, on: server)
  }

  /// Talks, and counts the replies.
  func talk(with users: [EncryptionPublicKey], counting replies: borrowing Atomic<Int>) async throws
  {
    while end == nil {
      // Messages to a connection that has ended meanwhile are lost, and nothing else happens.
      try? sendSomething(to: users)
      guard try await isRepliedTo() else { continue }
      acknowledged = sent.mapValues(\.count)
      replies.add(1, ordering: .relaxed)
    }
    device.socket.cut()
  }

  private func sendSomething(to users: [EncryptionPublicKey]) throws {
    for _ in 0..<Int.random(in: 1...6, using: &generator) {
      switch Int.random(in: 0..<16, using: &generator) {
      case 0: try device.send(.pause(PDU.Pause()))
      case 1, 2: try device.send(.resume(PDU.Resume()))
      case 3:
        guard let id = received.randomElement(using: &generator) else { continue }
        truncated.insert(id)
        try device.send(.truncate(PDU.Truncate(message: id)))
      case 4, 5:
        let name = try #require(ShortBytes("\(Int.random(in: 0..<3, using: &generator))"))
        let isLock = Bool.random(using: &generator)
        try device.send(
          isLock
            ? .lock(PDU.Lock(directory: user.key, filename: name))
            : .read(PDU.Read(directory: user.key, filename: name)))
      case 6:
        let pattern = try #require(ShortBytes("user*"))
        try device.send(.searchByName(PDU.SearchByName(maxUsers: 3, text: pattern)))
      default:
        guard let to = users.randomElement(using: &generator) else { continue }
        let count = sent.values.reduce(0) { $0 + $1.count }
        let (pdu, data) = try user.message(
          "\(number) \(count)", to: to, time: UInt64(count), identity: server.identity)
        sent[to, default: []].append(MessageID(header: pdu.encoded(), data: data[...]))
        try device.send(pdu, data: data)
      }
    }
  }

  /// Searches for nobody, and takes what comes until the reply or the connection's end.
  private func isRepliedTo() async throws -> Bool {
    let nobody = try #require(ShortBytes("?"))
    try? device.send(.searchByUid(PDU.SearchByUid(maxUsers: 1, text: nobody)))
    while true {
      let event = try await device.next()
      guard case .pdu(let pdu, let data) = event else {
        end = event
        return false
      }
      #expect(!isRedirected, "\(pdu) came behind the redirect")
      switch pdu {
      case .user(.nobody): return true
      case .redirect: isRedirected = true
      case .message: received.append(MessageID(header: pdu.encoded(), data: data[...]))
      default: break
      }
    }
  }
}

@Suite("Draining") struct DrainTests {
  @Test(arguments: TestSeeds.random(1))
  func endsEveryTalkInOrderAndKeepsWhatWasAnswered(seed: UInt64) async throws {
    let folder = TemporaryFolder()
    let users = (0..<25).map { TestUser("user \($0)") }
    let chatters = try await Self.talk(users, in: folder, seed: seed)
    for chatter in chatters {
      #expect(chatter.isRedirected && chatter.end == .closed(1001))
    }
    let truncated = chatters.reduce(into: Set<MessageID>()) { $0.formUnion($1.truncated) }
    try await withServer(in: folder) { server in
      let judge = try await TestDevice.established(TestUser("judge"), on: server)
      for user in users {
        let last = try judge.send("the last", to: user.key)
        let messages = try await Self.stream(of: user, on: server, until: last)
        #expect(Set(messages).count == messages.count)
        for chatter in chatters {
          let sent = chatter.sent[user.key] ?? []
          let kept = messages.filter { sent.contains($0) && !truncated.contains($0) }
          let promised = sent.prefix(chatter.acknowledged[user.key] ?? 0)
            .filter { !truncated.contains($0) }
          #expect(Array(kept.prefix(promised.count)) == promised)
          // Messages that were under way may be there too, but nothing is left out before them.
          let rest = sent.filter { !truncated.contains($0) }
          #expect(kept == Array(rest.prefix(kept.count)))
        }
      }
    }
  }

  /// Makes two devices of each user talk, and drains the server while they do.
  private static func talk(
    _ users: [TestUser], in folder: TemporaryFolder, seed: UInt64
  ) async throws -> [Chatter] {
    let server = try await TestServer.start(in: folder, publicURL: "https://example.com/")
    var chatters: [Chatter] = []
    for (number, user) in (users + users).enumerated() {
      chatters.append(try await Chatter(user, on: server, number: number, seed: seed))
    }
    let replies = Replies()
    try await withThrowingTaskGroup { [chatters] group in
      for chatter in chatters {
        group.addTask { try await chatter.talk(with: users.map(\.key), counting: replies.count) }
      }
      try await waitUntil(within: .seconds(300)) {
        replies.count.load(ordering: .relaxed) >= 500
      }
      await server.http.drain(within: .seconds(120))
      try await group.waitForAll()
    }
    await server.store.close()
    return chatters
  }

  private final class Replies: Sendable {
    let count = Atomic(0)
  }

  /// Reads the stream as a device that has nothing yet.
  private static func stream(
    of user: TestUser, on server: TestServer, until last: MessageID
  ) async throws -> [MessageID] {
    let device = try TestDevice(user, to: server)
    try device.send(user.login())
    var messages: [MessageID] = []
    while messages.last != last {
      let (pdu, data) = try await device.nextPDU()
      guard case .message = pdu else { continue }
      messages.append(MessageID(header: pdu.encoded(), data: data[...]))
    }
    device.socket.cut()
    return messages
  }
}
