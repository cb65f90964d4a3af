internal import Platform
internal import Testing

@testable import Msgr
@testable import Push

/// What the planner decides, without a store.
@Suite struct SendPlanTests {
  private static let now = Timestamp(seconds: 1_700_000_000)
  private static let limits = SendLimits(
    inbox: 3, clientIDs: 2, pushHold: .seconds(90), pushLife: .seconds(3600))

  private func post(
    _ text: String, from sender: String = "anna", to recipient: String = "bert",
    named name: String? = nil
  ) throws -> InboxPost {
    let sender = UserName(stored: sender)
    var post = InboxPost(
      sender: sender, owner: sender, recipient: UserName(stored: recipient),
      text: try MessageText(text))
    post.personal = InboxPost.Personal(
      clientID: name.map(ClientID.init(stored:)), digest: Array(text.utf8))
    return post
  }

  /// Facts in which everybody has an account.
  private func facts(
    _ batch: SendBatch, _ accounts: [String: SendFacts.Account] = [:]
  ) -> SendFacts {
    var facts = SendFacts(for: batch)
    for (index, name) in batch.accounts.enumerated() {
      facts.accounts[index] = accounts[name.text] ?? SendFacts.Account()
    }
    return facts
  }

  private func ids(_ plan: SendPlan) -> [MsgrMessageID?] {
    plan.outcomes.map { outcome in
      if case .sent(let receipt) = outcome { receipt.id } else { nil }
    }
  }

  @Test func identifiersRiseWithinABatchAndTheCountersWithThem() throws {
    let batch = SendBatch([try post("1"), try post("2"), try post("3", to: "cleo")])
    let last = MsgrMessageID(earliestAt: Self.now + .seconds(60))
    let facts = facts(batch, ["bert": SendFacts.Account(messages: 1, unread: 1, last: last)])
    let plan = plan(batch, facts, now: Self.now, Self.limits)
    #expect(ids(plan) == [last.next, last.next.next, MsgrMessageID(earliestAt: Self.now)])
    let bert = try #require(plan.accounts.first { $0.name.text == "bert" })
    #expect(
      bert.counters == SendFacts.Account(messages: 3, unread: 3, last: last.next.next))
    #expect(plan.inbox.map(\.message.text.text) == ["1", "2", "3"])
    // A new pair is remembered once.
    #expect(Set(plan.acquaintances.map(\.recipient.text)) == ["bert", "cleo"])
  }

  @Test func whatComesBehindAFullInboxWaitsForIt() throws {
    let batch = SendBatch([
      try post("1"), try post("2", named: "n"), try post("2", to: "cleo", named: "n"),
      try post("3", to: "cleo"),
    ])
    var facts = facts(batch, ["bert": SendFacts.Account(messages: 3)])
    let waiting = plan(batch, facts, now: Self.now, Self.limits)
    // The second of the same name waits too, as the first may not be stored.
    #expect(ids(waiting).map { $0 == nil } == [true, true, true, false])
    let areAlone = waiting.outcomes.map { if case .alone = $0 { true } else { false } }
    #expect(areAlone == [true, true, true, false])
    #expect(waiting.inbox.map(\.message.text.text) == ["3"])
    // By itself, without room, a message has an identifier and no row.
    let single = SendBatch([try post("1")])
    facts = self.facts(single, ["bert": SendFacts.Account(messages: 3, unread: 2)])
    facts.fullInbox = .settled(hasRoom: false)
    let refused = plan(single, facts, now: Self.now, Self.limits)
    #expect(ids(refused) == [MsgrMessageID(earliestAt: Self.now)])
    #expect(refused.inbox.isEmpty && refused.accounts.map(\.counters.messages) == [3])
  }

  @Test func aNameIsOneMessageWithinABatch() throws {
    let batch = SendBatch([
      try post("1", named: "n"), try post("1", named: "n"), try post("2", named: "n"),
      try post("1", from: "cleo", named: "n"),
    ])
    let plan = plan(batch, facts(batch), now: Self.now, Self.limits)
    let ids = ids(plan)
    #expect(ids[0] == ids[1] && ids[2] == nil && ids[3] != nil && ids[3] != ids[0])
    guard case .refused(let error) = plan.outcomes[2] else {
      Issue.record("another message has the name")
      return
    }
    #expect(error as? RequestRefusal == .otherMessage)
    #expect(plan.inbox.count == 2 && plan.names.count == 2)
  }

  @Test func aSenderWhoIsBlockedChangesTheIdentifierOnly() throws {
    let batch = SendBatch([try post("1")])
    var facts = facts(batch)
    facts.posts[0].isBlocked = true
    let plan = plan(batch, facts, now: Self.now, Self.limits)
    #expect(plan.inbox.isEmpty && plan.pushes.isEmpty)
    #expect(
      plan.accounts.map(\.counters) == [
        SendFacts.Account(last: MsgrMessageID(earliestAt: Self.now))
      ])
  }

  @Test func pushesAreInTheOrderOfTheirDevices() throws {
    let batch = SendBatch([try post("1"), try post("2", to: "cleo"), try post("3")])
    var facts = facts(batch)
    func device(_ digit: String) -> SendFacts.Device {
      let id = DeviceID(stored: String(repeating: digit, count: 64))
      let address = PushAddress(stored: .apns, Array(id.text.utf8))
      return SendFacts.Device(device: PushedDevice(id: id, address: address), start: nil)
    }
    facts.devices[batch.recipients[0]] = [device("1"), device("9")]
    facts.devices[batch.recipients[1]] = [device("5")]
    let plan = plan(batch, facts, now: Self.now, Self.limits)
    #expect(plan.pushes.map { $0.device.id.text.prefix(1) } == ["1", "1", "5", "9", "9"])
    #expect(plan.pushes.map(\.message.text.text) == ["1", "3", "2", "1", "3"])
    #expect(plan.pushes.map(\.isFirst) == [true, false, true, true, false])
    #expect(plan.pushes.map(\.badge) == [1, 2, 1, 1, 2])
  }

  @Test func whoHoldsMostLosesFirst() {
    func share(_ owner: String, _ site: String, _ count: Int, known: Bool = false) -> InboxShare {
      InboxShare(
        owner: owner, site: site, isKnown: known, messages: count,
        oldest: MsgrMessageID(rawValue: Int64(owner.utf8.first ?? 0)))
    }
    let strangers = [share("a", "s", 2), share("b", "s", 2), share("c", "t", 3)]
    // A site's accounts count together.
    #expect(InboxEviction.leastWanted(strangers, forKnown: false)?.rawValue == 97)
    let known = [share("k", "s", 9, known: true), share("l", "s", 8, known: true)]
    #expect(InboxEviction.leastWanted(known + [strangers[2]], forKnown: true)?.rawValue == 99)
    #expect(InboxEviction.leastWanted(known, forKnown: false) == nil)
    #expect(InboxEviction.leastWanted(known, forKnown: true)?.rawValue == 107)
    #expect(InboxEviction.leastWanted([], forKnown: true) == nil)
  }
}
