internal import Testing

@testable import Msgr

/// Who may use a topic, and who makes one.
@Suite struct TopicAccessTests {
  private let anna = UserName(stored: "anna")
  private let bert = UserName(stored: "bert")
  private let name = TopicName(stored: "alerts")

  private func decide(
    _ right: TopicRight, _ facts: TopicFacts?, by caller: TopicCaller,
    mode: TopicConfiguration.Access = .accounts, isBarred: Bool = false
  ) -> TopicAccess.Decision {
    TopicAccess.decide(right, name, facts, isBarred: isBarred, by: caller, mode: mode)
  }

  @Test func anAccountMakesATopicAndOwnsIt() {
    #expect(decide(.write, nil, by: .account(anna)) == .makes(owner: anna))
    #expect(decide(.write, nil, by: .nobody) == .forbidden)
    #expect(decide(.write, nil, by: .nobody, mode: .open) == .makes(owner: nil))
    #expect(decide(.write, nil, by: .account(anna), isBarred: true) == .forbidden)
    #expect(decide(.write, nil, by: .account(anna), mode: .off) == .forbidden)
  }

  @Test func theOwnerMayDoEverything() {
    let facts = TopicFacts(owner: anna, everyone: .deny, own: .deny)
    #expect(decide(.read, facts, by: .account(anna)) == .allowed)
    #expect(decide(.read, facts, by: .account(bert)) == .forbidden)
    #expect(decide(.read, facts, by: .nobody) == .forbidden)
  }

  @Test func aNameCountsBeforeEveryone() {
    let facts = TopicFacts(owner: anna, everyone: .readWrite, own: .read)
    #expect(decide(.read, facts, by: .account(bert)) == .allowed)
    #expect(decide(.write, facts, by: .account(bert)) == .forbidden)
    #expect(decide(.write, facts, by: .nobody) == .allowed)
  }

  @Test func aPublisherMayNoMoreThanItsOwner() {
    let facts = TopicFacts(owner: anna, everyone: .deny)
    let all = PublisherToken(hash: .none, owner: anna, name: "ci")
    #expect(decide(.write, facts, by: .publisher(all)) == .allowed)
    #expect(decide(.read, facts, by: .publisher(all)) == .forbidden)
    let reader = PublisherToken(hash: .none, owner: anna, name: "ci", reads: true)
    #expect(decide(.read, facts, by: .publisher(reader)) == .allowed)
    let other = PublisherToken(hash: .none, owner: anna, name: "ci", topics: .only(["x"]))
    #expect(decide(.write, facts, by: .publisher(other)) == .forbidden)
    let foreign = PublisherToken(hash: .none, owner: bert, name: "ci")
    #expect(decide(.write, facts, by: .publisher(foreign)) == .forbidden)
  }

  @Test func unifiedPushTopicsMayBeWrittenByEveryone() {
    let push = TopicName(stored: "upAbcdefghij12")
    #expect(push.isUnifiedPush && !name.isUnifiedPush)
    #expect(TopicAccess.everyone(ofNew: push, owner: anna, configured: .deny) == .write)
    #expect(TopicAccess.everyone(ofNew: name, owner: anna, configured: .deny) == .deny)
    #expect(TopicAccess.everyone(ofNew: name, owner: nil, configured: .deny) == .readWrite)
  }

  @Test(arguments: [
    "", "a b", "ä", String(repeating: "x", count: 65), "message", "v1", "docs",
    "0x" + String(repeating: "aB", count: 20),
  ])
  func otherNamesAreRefused(_ text: String) { #expect(TopicName(text) == nil) }

  @Test func namesAreBytes() {
    #expect(TopicName("Alerts-1_x") != nil && TopicName("alerts") != TopicName("Alerts"))
  }
}
