internal import ApptimistProtocol
internal import Cryptography
internal import Foundation
internal import Testing
internal import TestSupport

@testable import Apptimist

/// A device that does one thing after the other, and keeps what its stream brings.
private final class Actor: @unchecked Sendable {
  // Safe to share: one task at a time uses it.
  let user: TestUser
  private let servers: [TestServer]
  private let number: Int
  private var generator: SeededGenerator
  private var device: TestDevice
  private var messages = 0
  private var lastSent: (pdu: PDU, data: [UInt8])?
  /// The messages that the stream gave, in order.
  private(set) var received: [MessageID] = []
  private(set) var sent: Set<MessageID> = []
  private(set) var truncated: Set<MessageID> = []

  init(_ user: TestUser, on servers: [TestServer], number: Int, seed: UInt64) async throws {
    self.user = user
    self.servers = servers
    self.number = number
    generator = SeededGenerator(seed: seed &+ UInt64(number) &* 7919)
    device = try TestDevice(user, to: servers[number % servers.count])
    try device.send(try user.new())
    try device.send(user.login())
    // A reconnection cuts this one, which must have made the account before.
    try await collect()
  }

  private func take(_ events: [(pdu: PDU, data: [UInt8])]) {
    for (pdu, data) in events {
      switch pdu {
      case .message: received.append(MessageID(header: pdu.encoded(), data: data[...]))
      case .truncate(let truncate): truncated.insert(truncate.message)
      default: break
      }
    }
  }

  private func collect() async throws { take(try await device.eventsUntilReply()) }

  /// Does random things with all users.
  func play(_ count: Int, with users: [EncryptionPublicKey]) async throws {
    for _ in 0..<count {
      switch Int.random(in: 0..<20, using: &generator) {
      case 0..<10:
        guard let to = users.randomElement(using: &generator) else { continue }
        messages += 1
        let (pdu, data) = try user.message(
          "\(number) \(messages)", to: to, time: UInt64(messages), identity: servers[0].identity)
        try send(pdu, data)
      case 10..<12: try device.send(.pause(PDU.Pause()))
      case 12..<14: try device.send(.resume(PDU.Resume()))
      case 14:
        guard let id = received.randomElement(using: &generator) else { continue }
        try device.send(.truncate(PDU.Truncate(message: id)))
      case 15:
        if Bool.random(using: &generator) { try await collect() }
        try reconnect()
        // It can't know whether the last one arrived.
        if let (pdu, data) = lastSent { try send(pdu, data) }
      default: try await collect()
      }
    }
    try device.send(.resume(PDU.Resume()))
    try await collect()
  }

  private func send(_ pdu: PDU, _ data: [UInt8]) throws {
    sent.insert(MessageID(header: pdu.encoded(), data: data[...]))
    lastSent = (pdu, data)
    try device.send(pdu, data: data)
  }

  private func reconnect() throws {
    device.socket.cut()
    device = try TestDevice(user, to: servers[Int.random(in: servers.indices, using: &generator)])
    try device.send(user.login(head: received.last ?? MessageID()))
  }

  /// Reads on until a message has come.
  func read(until last: MessageID) async throws {
    while received.last != last { take([try await device.nextPDU()]) }
  }

  func leave() { device.socket.cut() }
}

@Suite("Any interleaving", .withOtherPrograms) struct InterleavingTests {
  @Test(arguments: TestSeeds.random(4))
  func givesEveryDeviceAllInOrder(seed: UInt64) async throws {
    try await withServer { server in try await Self.play(on: [server], seed: seed) }
  }

  @Test(arguments: TestSeeds.random(3), [false, true])
  func givesEveryDeviceAllInOrderOnAnyNode(seed: UInt64, polls: Bool) async throws {
    try await withNodes(3, polls: polls) { try await Self.play(on: $0, seed: seed) }
  }

  /// Lets three devices of each of three users do as they like.
  private static func play(on servers: [TestServer], seed: UInt64) async throws {
    let users = (0..<3).map { TestUser("user \($0)") }
    var actors: [Actor] = []
    for (number, user) in (users + users + users).enumerated() {
      actors.append(try await Actor(user, on: servers, number: number, seed: seed))
    }
    let keys = users.map(\.key)
    try await withThrowingTaskGroup { group in
      for actor in actors { group.addTask { try await actor.play(60, with: keys) } }
      try await group.waitForAll()
    }
    // The last message ends the stream that each has to read.
    let judge = try await TestDevice.established(TestUser("judge"), on: servers[0])
    for user in users {
      let last = try judge.send("the last", to: user.key)
      let witness = try await Self.stream(of: user, on: servers[0], until: last)
      for actor in actors where actor.user.key == user.key {
        try await actor.read(until: last)
        let gone = actor.truncated.union(witness.truncated).union(actor.sent)
        let expected = witness.messages.filter { !gone.contains($0) }
        let received = actor.received.filter { !gone.contains($0) }
        #expect(received == expected)
        #expect(Set(actor.received).count == actor.received.count)
        #expect(actor.truncated.isSuperset(of: witness.truncated))
        actor.leave()
      }
    }
  }

  /// Reads the stream as a device that has nothing yet.
  private static func stream(
    of user: TestUser, on server: TestServer, until last: MessageID
  ) async throws -> (messages: [MessageID], truncated: Set<MessageID>) {
    let device = try TestDevice(user, to: server)
    try device.send(user.login())
    var messages: [MessageID] = []
    var truncated: Set<MessageID> = []
    while messages.last != last {
      let (pdu, data) = try await device.nextPDU()
      switch pdu {
      case .message: messages.append(MessageID(header: pdu.encoded(), data: data[...]))
      case .truncate(let truncate): truncated.insert(truncate.message)
      default: break
      }
    }
    device.socket.cut()
    return (messages, truncated)
  }
}
