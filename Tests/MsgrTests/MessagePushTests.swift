internal import Cryptography
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr
@testable import Push

/// Which pushes a message causes, and when they end.
struct MessagePushTests {
  private let fixture: PushFixture

  init() async throws {
    fixture = try await PushFixture()
    try await fixture.makeUser("anna")
    try await fixture.makeUser("bert", PushFixture.device(1), PushFixture.device(2))
  }

  @Test func aMessageIsQueuedForEachDeviceUnderAnIdentifierOfItsOwn() async throws {
    let id = try await fixture.send("one", to: "bert", isAddRequest: true)
    let pushes = try await fixture.lease()
    #expect(pushes.map(\.deviceID) == [PushFixture.device(1), PushFixture.device(2)])
    #expect(Set(pushes.map(\.pushID)).count == 2)
    #expect(pushes.allSatisfy { $0.message?.id == id && $0.text == "one" })
    #expect(pushes.allSatisfy { $0.message?.isAddRequest == true && $0.attempts == 1 })
    #expect(pushes.allSatisfy { $0.message?.sender.text == "anna" && $0.message?.badge == 1 })
    #expect(pushes.allSatisfy { $0.expires == fixture.clock.now + .seconds(7 * 86_400) })
  }

  @Test func aMessageThatIsRolledBackIsNotPushed() async throws {
    struct Stop: Error {}
    let store = fixture.store
    let anna = try PushFixture.name("anna")
    let bert = try PushFixture.name("bert")
    let text = try MessageText("m")
    await #expect(throws: Stop.self) {
      try await store.store.write { transaction in
        let post = InboxPost(sender: anna, owner: anna, recipient: bert, text: text)
        _ = try store.deliver([post], transaction)
        throw Stop()
      }
    }
    #expect(try await fixture.lease().isEmpty)
  }

  @Test func theBadgeCountsWhatIsNewerThanWhatWasSeen() async throws {
    let first = try await fixture.send(to: "bert")
    try await fixture.store.recordSeen(upTo: first, by: try PushFixture.name("bert"))
    try await fixture.send(to: "bert")
    try await fixture.send(to: "bert")
    var badges: [Int] = []
    for _ in 1...3 {
      for push in try await fixture.lease() {
        if push.deviceID == PushFixture.device(1) { badges.append(push.message?.badge ?? 0) }
        try await fixture.complete(push, .delivered)
      }
    }
    #expect(badges == [1, 1, 2])
  }

  @Test(
    arguments: [
      (-1, true), (0, true), (1, false), (nil, false),
    ] as [(Int64?, Bool)])
  func unbindsADeviceUnlessItWasBoundLater(offset: Int64?, remains: Bool) async throws {
    try await fixture.send("1", to: "bert")
    try await fixture.send("2", to: "bert")
    let bound = fixture.clock.now
    let push = try #require(try await fixture.lease(1).first)
    try await fixture.complete(
      push, .unbound(boundBefore: offset.map { bound + .milliseconds($0) }))
    #expect(try await fixture.count("msgr_devices") == (remains ? 2 : 1))
    // The push itself is gone in any case; the other pushes go with the device.
    #expect(try await fixture.count("push_outbox") == (remains ? 3 : 2))
  }

  @Test func whatIsPushedIsDroppedWithTheAccountNotWithTheInbox() async throws {
    try await fixture.send(to: "bert")
    try await fixture.store.store.write { transaction in
      try transaction.execute("DELETE FROM msgr_messages")
    }
    #expect(try await fixture.count("push_outbox") == 2)
    try await fixture.store.store.write { transaction in
      try transaction.execute("DELETE FROM msgr_users WHERE username = 'bert'")
    }
    #expect(try await fixture.count("push_outbox") == 0)
  }

  @Test func whatAStreamDeliversIsHeldThenDroppedOrReleased() async throws {
    let device = PushFixture.device(3)
    try await fixture.makeUser("cleo", device)
    let first = try await fixture.send("1", to: "cleo", streaming: true)
    let second = try await fixture.send("2", to: "cleo", streaming: true)
    try await fixture.send("3", to: "cleo", streaming: true)
    #expect(try await fixture.lease().isEmpty)
    let token = BoundToken(
      hash: TokenHash(digest: SHA256.hash([1])), name: try PushFixture.name("cleo"), device: device)
    let progress = MessageStreamProgress(start: .zero, sent: first, confirmed: first)
    /// Completes what a stream leaves, while another stream of the device brings what comes after a message.
    func recordProgress(releasedTo released: MsgrMessageID?) async throws {
      fixture.streams.set(released.map { [device: $0] } ?? [:])
      try await fixture.store.recordProgress(progress, of: token, ending: released.map { _ in 1 })
    }
    try await recordProgress(releasedTo: nil)
    #expect(try await fixture.lease().isEmpty)
    #expect(try await fixture.count("push_outbox") == 2)
    try await recordProgress(releasedTo: first)
    #expect(try await fixture.lease().isEmpty)
    try await recordProgress(releasedTo: second)
    let pushes = try await fixture.lease()
    #expect(pushes.map(\.text) == ["2"])
    for push in pushes { try await fixture.complete(push, .delivered) }
    #expect(try await fixture.lease().isEmpty)
    try await recordProgress(releasedTo: .last)
    #expect(try await fixture.lease().map(\.text) == ["3"])
  }

  @Test func whatIsHeldTooLongIsPushed() async throws {
    try await fixture.send(to: "bert", streaming: true)
    fixture.clock.advance(by: fixture.store.limits.pushHold - .milliseconds(1))
    #expect(try await fixture.lease().isEmpty)
    fixture.clock.advance(by: .milliseconds(1))
    #expect(try await fixture.lease().count == 2)
  }
}
