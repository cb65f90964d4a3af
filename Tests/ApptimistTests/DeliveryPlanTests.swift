internal import ApptimistProtocol
internal import Cryptography
internal import Platform
internal import Push
internal import Testing

@testable import Apptimist

/// The decisions about deliveries, which no store is needed for.
@Suite struct DeliveryPlanTests {
  private var facts = DeliveryFacts()
  private var limits = ApptimistStore.Limits()

  init() {
    for user in 1...3 {
      facts.senders[StoreFixture.key(user)] = DeliveryFacts.Sender(
        user: AccountNumber(rawValue: Int64(user)),
        authenticationKey: StoreFixture.authenticationKey(user), isClosed: user == 3)
      facts.mailboxes[StoreFixture.key(user)] = DeliveryFacts.Mailbox(
        user: AccountNumber(rawValue: Int64(user)), last: MailboxPosition(rawValue: 10), entries: 4,
        bytes: 40, isBound: user == 1)
    }
  }

  private static func copy(_ id: Int, to user: Int, size: Int = 10) -> MessageCopy {
    MessageCopy(
      recipient: StoreFixture.key(user), id: StoreFixture.id(id), header: [UInt8(id)],
      data: Array(repeating: 0, count: size - 1))
  }

  private static func request(_ copies: [MessageCopy], from user: Int) -> DeliveryRequest {
    DeliveryRequest(copies: copies[...], login: StoreFixture.login(user))
  }

  private static func delivered(_ position: Int64) -> DeliveryPlan.Decision {
    .delivered(MailboxPosition(rawValue: position))
  }

  @Test func positionsFollowEachOtherInABatch() {
    let plan = DeliveryPlan(
      [
        Self.request([Self.copy(1, to: 1), Self.copy(1, to: 2)], from: 2),
        Self.request([Self.copy(2, to: 1), Self.copy(1, to: 1)], from: 1),
      ], facts, limits)
    #expect(
      plan.decisions == [
        [Self.delivered(11), Self.delivered(11)],
        [Self.delivered(12), .known(MailboxPosition(rawValue: 11))],
      ])
    // The first two are one message, and the last one is none.
    #expect(plan.messages.map(\.addressees.count) == [2, 1])
    let mailbox = plan.mailboxes[StoreFixture.key(1)]
    #expect(mailbox?.entries == 6 && mailbox?.bytes == 60)
    // Nobody is woken by an own message, nor without an address.
    #expect(plan.news.map(\.position.rawValue) == [11])
  }

  @Test func whoMayNotSendSendsNothing() {
    let plan = DeliveryPlan(
      [
        Self.request([Self.copy(1, to: 1)], from: 3), Self.request([Self.copy(2, to: 1)], from: 4),
        Self.request([Self.copy(3, to: 9)], from: 1),
      ], facts, limits)
    #expect(plan.decisions == [[.unknownRecipient], [.unknownRecipient], [.unknownRecipient]])
    #expect(plan.messages.isEmpty && plan.mailboxes.isEmpty)
  }

  @Test func aFullMailboxWaitsWithAllThatFollows() {
    var limits = limits
    limits.mailboxBytes = 55
    let copies = [
      Self.copy(1, to: 1), Self.copy(2, to: 1), Self.copy(3, to: 1, size: 1), Self.copy(1, to: 1),
      Self.copy(4, to: 2),
    ]
    let plan = DeliveryPlan([Self.request(copies, from: 1)], facts, limits)
    #expect(
      plan.decisions == [
        [Self.delivered(11), .needsRoom, .needsRoom, .needsRoom, Self.delivered(11)]
      ])
    let rest = DeliveryPlan(
      [Self.request([Self.copy(2, to: 1)], from: 1)], facts, limits, hasMadeRoom: true)
    #expect(rest.decisions == [[Self.delivered(11)]])
  }

  @Test func nothingOfAContactGoesForAStranger() {
    typealias Victim = (position: MailboxPosition, holder: ShareHolder)
    let contact = ShareHolder(rawValue: 5)
    let stranger = ShareHolder(rawValue: -5)
    let oldest: Victim = (MailboxPosition(rawValue: 1), contact)
    let strange: Victim = (MailboxPosition(rawValue: 2), stranger)
    let largest: Victim = (MailboxPosition(rawValue: 3), contact)
    func victim(
      for holder: ShareHolder, _ acknowledged: Victim?, _ site: Victim?
    ) -> MailboxPosition? {
      EvictionFacts(
        holder: holder, acknowledged: acknowledged, largestSite: site, largestShare: largest
      ).victim?.position
    }
    for holder in [contact, stranger] {
      #expect(victim(for: holder, oldest, strange) == oldest.position)
      #expect(victim(for: holder, nil, strange) == strange.position)
    }
    #expect(victim(for: contact, nil, nil) == largest.position)
    #expect(victim(for: stranger, nil, nil) == nil)
  }
}
