internal import ApptimistProtocol
internal import Cryptography
internal import Storage
internal import TestSupport
internal import Testing

@testable import Apptimist

@Suite struct StoreMailboxTests {
  private let fixture: StoreFixture

  init() { fixture = StoreFixture() }

  private static func at(_ position: Int64) -> MailboxPosition {
    MailboxPosition(rawValue: position)
  }

  private static func message(
    _ id: Int, at position: Int64, header: [UInt8] = [1], data: [UInt8] = [2]
  ) -> MailboxEntry {
    MailboxEntry(
      position: at(position), id: StoreFixture.id(id),
      content: .message(header: header, data: data))
  }

  private static func truncation(_ id: Int, at position: Int64) -> MailboxEntry {
    MailboxEntry(position: at(position), id: StoreFixture.id(id), content: .truncation)
  }

  @Test func messagesKeepTheirOrderAndBytesAlsoAfterARestart() async throws {
    var store = try await fixture.open()
    try await store.makeUsers(1...2)
    let empty: [UInt8] = []
    #expect(
      try await store.send(7, from: 1, to: 2, header: [0, 255], data: empty)
        == .delivered(Self.at(1)))
    #expect(try await store.send(5, from: 2, to: 2) == .delivered(Self.at(2)))
    #expect(try await store.send(5, from: 2, to: 1) == .delivered(Self.at(1)))
    let expected = [
      Self.message(7, at: 1, header: [0, 255], data: empty), Self.message(5, at: 2),
    ]
    #expect(try await store.entries(of: 2) == expected)
    await store.store.close()
    store = try await fixture.open()
    #expect(try await store.entries(of: 2) == expected)
    #expect(try await store.lastPosition(of: StoreFixture.key(2)) == Self.at(2))
    #expect(try await store.send(8, from: 1, to: 2) == .delivered(Self.at(3)))
  }

  @Test func onlyUsersHaveMailboxes() async throws {
    let store = try await fixture.open()
    try await store.makeUsers(1...1)
    #expect(try await store.makeForum(10, author: 1) == .done)
    #expect(try await store.send(1, from: 1, to: 10) == .unknownRecipient)
    #expect(try await store.send(1, from: 1, to: 99) == .unknownRecipient)
    #expect(try await store.send(1, from: 10, to: 1) == .unknownRecipient)
    #expect(try await store.entries(of: 10).isEmpty)
    #expect(try await store.truncate(1, of: 99) == .never)
    #expect(try await store.start(of: StoreFixture.key(99), head: .init(), max: 1) == .zero)
    #expect(try await store.count("SELECT count(*) FROM apptimist_contents") == 0)
  }

  @Test func aMessageIsDeliveredOnce() async throws {
    let store = try await fixture.open()
    try await store.makeUsers(1...2)
    #expect(try await store.send(1, from: 1, to: 2) == .delivered(Self.at(1)))
    #expect(try await store.send(2, from: 1, to: 2) == .delivered(Self.at(2)))
    #expect(try await store.send(1, from: 1, to: 2) == .known(Self.at(1)))
    #expect(try await store.truncate(1, of: 2) == .first(Self.at(3)))
    #expect(try await store.send(1, from: 1, to: 2) == .known(Self.at(1)))
    let expected = [Self.message(2, at: 2), Self.truncation(1, at: 3)]
    #expect(try await store.entries(of: 2) == expected)
    // Twice in one transaction.
    let copy = MessageCopy(
      recipient: StoreFixture.key(2), id: StoreFixture.id(9), header: [1], data: [2])
    #expect(
      try await store.deliver([copy, copy], from: StoreFixture.login(1))
        == [.delivered(Self.at(4)), .known(Self.at(4))])
    #expect(try await store.entries(of: 2, after: Self.at(3)) == [Self.message(9, at: 4)])
  }

  @Test func aTruncationIsToldOnceAndLeavesNothingOfTheContent() async throws {
    let store = try await fixture.open()
    try await store.makeUsers(1...2)
    for id in 1...3 { _ = try await store.send(id, from: 1, to: 2) }
    #expect(try await store.truncate(2, of: 2) == .first(Self.at(4)))
    #expect(try await store.truncate(2, of: 2) == .again)
    #expect(try await store.truncate(9, of: 2) == .never)
    #expect(try await store.truncate(2, of: 1) == .never)
    let expected = [Self.message(1, at: 1), Self.message(3, at: 3), Self.truncation(2, at: 4)]
    #expect(try await store.entries(of: 2) == expected)
    #expect(try await store.entries(of: 2, after: Self.at(3)) == [Self.truncation(2, at: 4)])
    #expect(try await store.count("SELECT count(*) FROM apptimist_contents") == 2)
  }

  /// Messages 1 to 5; 2 and 5 are truncated, behind 3 and behind 5.
  @Test(arguments: [
    (head: 0, max: 0, start: 0),
    (head: 1, max: 0, start: 1),
    (head: 2, max: 0, start: 2),
    (head: 5, max: 0, start: 6),
    (head: 9, max: 0, start: 0),
    (head: 0, max: 1, start: 5),
    (head: 0, max: 2, start: 4),
    (head: 0, max: 3, start: 2),
    (head: 0, max: 5, start: 0),
    (head: 0, max: 6, start: 0),
    (head: 9, max: 2, start: 4),
    (head: 1, max: 2, start: 4),
    (head: 2, max: 3, start: 2),
    (head: 2, max: 4, start: 2),
    (head: 3, max: 3, start: 3),
    (head: 4, max: 2, start: 5),
    (head: 5, max: 1, start: 6),
    (head: 1, max: 65_535, start: 1),
  ])
  func aStreamStartsBehindItsHeadNotFurtherBackThanMax(
    _ head: Int, _ max: Int, _ start: Int64
  ) async throws {
    let store = try await fixture.open()
    try await store.makeUsers(1...2)
    for id in 1...3 { _ = try await store.send(id, from: 1, to: 2) }
    #expect(try await store.truncate(2, of: 2) == .first(Self.at(4)))
    for id in 4...5 { _ = try await store.send(id, from: 1, to: 2) }
    #expect(try await store.truncate(5, of: 2) == .first(Self.at(7)))
    let user = StoreFixture.key(2)
    let id = head == 0 ? MessageID() : StoreFixture.id(head)
    #expect(try await store.start(of: user, head: id, max: max) == Self.at(start))
  }

  @Test(arguments: [
    (maxBytes: Int.max, maxEntries: 1), (.max, 2), (.max, 5), (.max, 6), (.max, 100), (0, 100),
    (8, 100), (9, 3), (15, 100), (20, 0),
  ])
  func pagesAreNoLargerThanAsked(_ maxBytes: Int, _ maxEntries: Int) async throws {
    let store = try await fixture.open()
    try await store.makeUsers(1...2)
    for id in 1...7 {
      let data = Array(repeating: UInt8(id), count: id)
      _ = try await store.send(id, from: 1, to: 2, data: data)
    }
    for id in [1, 4, 7] { _ = try await store.truncate(id, of: 2) }
    var ids: [MessageID] = []
    var end = MailboxPosition.zero
    while true {
      let page = try await store.page(
        of: StoreFixture.key(2), after: end, maxBytes: maxBytes, maxEntries: maxEntries)
      let bytes = page.entries.reduce(0) { sum, entry in
        guard case .message(let header, let data) = entry.content else { return sum + 66 }
        return sum + header.count + data.count
      }
      #expect(bytes <= maxBytes || page.entries.count == 1)
      #expect(page.entries.count <= Swift.max(1, maxEntries))
      ids += page.entries.map(\.id)
      end = page.end
      if page.isLast { break }
      #expect(!page.entries.isEmpty)
    }
    #expect(ids == [2, 3, 5, 6, 1, 4, 7].map(StoreFixture.id))
    #expect(end == Self.at(10))
    let beyond = try await store.page(
      of: StoreFixture.key(2), after: Self.at(50), maxBytes: 1, maxEntries: 1)
    #expect(beyond == MailboxPage(entries: [], end: Self.at(50), isLast: true))
  }

  /// Messages of a sender that differ in the recipient only, but for the last, whose data differs.
  private static func copies(
    _ recipients: ClosedRange<Int>, time: UInt64
  ) -> [MessageCopy] {
    recipients.map { recipient in
      let message = PDU.Message(
        time: time, recipient: StoreFixture.key(recipient), to: StoreFixture.key(10),
        from: StoreFixture.key(1))
      let header = PDU.message(message).encoded()
      let data: [UInt8] = recipient == recipients.upperBound ? [9] : [1, 2, 3]
      return MessageCopy(
        recipient: StoreFixture.key(recipient), id: MessageID(header: header, data: data[...]),
        header: header, data: data)
    }
  }

  private static func entry(_ copy: MessageCopy, at position: Int64) -> MailboxEntry {
    MailboxEntry(
      position: at(position), id: copy.id,
      content: .message(header: copy.header, data: copy.data))
  }

  @Test(arguments: [0, 100])
  func copiesOfAMessageShareItsContentUntilTheLastIsGone(_ pending: Int) async throws {
    var limits = ApptimistStore.Limits()
    limits.mailboxEntries = 2
    limits.pendingDeliveries = pending
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...5)
    try await store.makeContacts(1...5)
    let (first, second) = (Self.copies(2...5, time: 1), Self.copies(2...5, time: 2))
    for (copies, position) in [(first, Int64(1)), (second, 2)] {
      let queued = try await store.deliver(copies, from: StoreFixture.login(1))
      #expect(queued == Array(repeating: .delivered(Self.at(position)), count: 4))
    }
    // A retry makes nothing.
    let again = try await store.deliver(first, from: StoreFixture.login(1))
    #expect(again == Array(repeating: .known(Self.at(1)), count: 4))
    #expect(try await store.count("SELECT count(*) FROM apptimist_contents") == 4)
    for user in 2...5 {
      let expected = [Self.entry(first[user - 2], at: 1), Self.entry(second[user - 2], at: 2)]
      #expect(try await store.entries(of: user) == expected)
    }
    let truncation = try await store.truncate(first[0].id, of: StoreFixture.login(2)).truncation
    #expect(truncation == .first(Self.at(3)))
    #expect(try await store.send(1, from: 1, to: 3) == .delivered(Self.at(3)))
    #expect(try await store.entries(of: 3).count == 2)
    #expect(try await store.count("SELECT count(*) FROM apptimist_contents") == 5)
    #expect(try await store.send(1, from: 1, to: 4) == .delivered(Self.at(3)))
    #expect(try await store.entries(of: 4).first == Self.entry(second[2], at: 2))
    // The two of `send`, both of `second`, and that of user 5.
    #expect(try await store.count("SELECT count(*) FROM apptimist_contents") == 5)
  }

  @Test func dataStaysWhileCopiesDropEachOther() async throws {
    var limits = ApptimistStore.Limits()
    limits.mailboxEntries = 1
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...1)
    let copies = (1...4).map {
      MessageCopy(
        recipient: StoreFixture.key(1), id: StoreFixture.id($0), header: [], data: [1, 2, 3])
    }
    _ = try await store.deliver(copies, from: StoreFixture.login(1))
    let expected = Self.message(4, at: 4, header: [], data: [1, 2, 3])
    #expect(try await store.entries(of: 1) == [expected])
    #expect(try await store.count("SELECT holders FROM apptimist_contents") == 1)
  }

  @Test func aFullMailboxDropsTheOldestOfTheSenderWhoHoldsMost() async throws {
    var limits = ApptimistStore.Limits()
    limits.mailboxEntries = 4
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...3)
    try await store.makeContacts(1...3)
    func ids() async throws -> [MessageID] { try await store.entries(of: 3).map(\.id) }
    _ = try await store.send(20, from: 2, to: 3)
    for id in 10...12 { _ = try await store.send(id, from: 1, to: 3) }
    #expect(try await store.send(13, from: 1, to: 3) == .delivered(Self.at(5)))
    #expect(try await ids() == [20, 11, 12, 13].map(StoreFixture.id))
    _ = try await store.send(21, from: 2, to: 3)
    #expect(try await ids() == [20, 12, 13, 21].map(StoreFixture.id))
    // Both hold two: the oldest of all goes.
    _ = try await store.send(14, from: 1, to: 3)
    #expect(try await ids() == [12, 13, 21, 14].map(StoreFixture.id))
    // A dropped message is still known.
    #expect(try await store.send(10, from: 1, to: 3) == .known(Self.at(2)))
    #expect(
      try await store.start(of: StoreFixture.key(3), head: StoreFixture.id(11), max: 0)
        == Self.at(3))
    // A truncation is the user's own entry; that of a dropped message is told too.
    #expect(try await store.truncate(10, of: 3) == .first(Self.at(8)))
    #expect(try await ids() == [13, 21, 14, 10].map(StoreFixture.id))
    #expect(try await store.truncate(10, of: 3) == .again)
  }

  @Test func bytesCountAsTheyAreDeliveredAndNoMoreOnceTruncated() async throws {
    var limits = ApptimistStore.Limits()
    limits.mailboxBytes = 300
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...3)
    try await store.makeContacts(1...3)
    func ids() async throws -> [MessageID] { try await store.entries(of: 3).map(\.id) }
    let hundred = Array(repeating: UInt8(0), count: 99)
    _ = try await store.send(20, from: 2, to: 3, data: hundred)
    for id in 10...11 { _ = try await store.send(id, from: 1, to: 3, data: hundred) }
    #expect(try await ids() == [20, 10, 11].map(StoreFixture.id))
    // 200 bytes are of sender 1, 100 of sender 2.
    _ = try await store.send(21, from: 2, to: 3, data: [])
    #expect(try await ids() == [20, 11, 21].map(StoreFixture.id))
    #expect(try await store.truncate(11, of: 3) == .first(Self.at(5)))
    #expect(try await ids() == [20, 21, 11].map(StoreFixture.id))
    // 101 of sender 2, 66 of the truncation, 100 new.
    _ = try await store.send(12, from: 1, to: 3, data: hundred)
    #expect(try await ids() == [20, 21, 11, 12].map(StoreFixture.id))
    // One that is larger than the queue stands alone in it.
    _ = try await store.send(13, from: 1, to: 3, data: Array(repeating: 0, count: 1000))
    #expect(try await ids() == [13].map(StoreFixture.id))
  }

  @Test func oneMessageDropsSoManyAtMost() async throws {
    var limits = ApptimistStore.Limits()
    limits.mailboxBytes = 3000
    limits.pendingDeliveries = 0
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...2)
    for id in 1...1000 { _ = try await store.send(id, from: 1, to: 2) }
    func entries() async throws -> Int {
      try await store.count("SELECT count(*) FROM apptimist_entries")
    }
    let before = try await entries()
    #expect(before > 500)
    _ = try await store.send(2000, from: 1, to: 2, data: Array(repeating: 0, count: 2900))
    #expect(try await entries() == before - 63)
    // What comes next drops the rest.
    for id in 2001...2030 { _ = try await store.send(id, from: 1, to: 2) }
    #expect(
      try await store.count("SELECT CAST(sum(size) AS BIGINT) FROM apptimist_entries")
        <= 3000)
  }

  @Test func aMessageThatWasDroppedLongAgoIsForgotten() async throws {
    var limits = ApptimistStore.Limits()
    limits.mailboxEntries = 2
    limits.rememberedMessages = 3
    // Each message is in its queue at once, as the tables are looked at.
    limits.pendingDeliveries = 0
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...2)
    for id in 1...6 { _ = try await store.send(id, from: 1, to: 2) }
    #expect(try await store.count("SELECT count(*) FROM apptimist_message_ids") == 5)
    #expect(try await store.send(2, from: 1, to: 2) == .known(Self.at(2)))
    #expect(try await store.send(1, from: 1, to: 2) == .delivered(Self.at(7)))
    #expect(try await store.truncate(2, of: 2) == .never)
    #expect(try await store.count("SELECT count(*) FROM apptimist_message_ids") == 5)
    #expect(try await store.count("SELECT count(*) FROM apptimist_dropped") == 3)
  }

  @Test func sixtyFourSendersAtOnceLeaveNoGap() async throws {
    let store = try await fixture.open()
    try await store.makeUsers(1...64)
    let positions = try await withThrowingTaskGroup(of: [MailboxPosition].self) { group in
      for sender in 1...64 {
        group.addTask {
          var positions: [MailboxPosition] = []
          for number in 0..<5 {
            let queued = try await store.send(sender * 100 + number, from: sender, to: 1)
            if case .delivered(let position) = queued { positions.append(position) }
          }
          return positions
        }
      }
      return try await group.reduce(into: [MailboxPosition]()) { all, some in
        #expect(some == some.sorted())
        all += some
      }
    }
    #expect(positions.sorted() == (1...320).map(Self.at))
    #expect(try await store.entries(of: 1, maxEntries: 7).map(\.position) == (1...320).map(Self.at))
  }

  // MARK: - Strangers

  /// Makes users who are strangers to the first one, of a site.
  private static func makeStrangers(
    _ numbers: ClosedRange<Int>, of site: String, in store: ApptimistStore
  ) async throws {
    for number in numbers {
      _ = try await store.createUser(
        StoreFixture.account(number, name: "user \(number)"), site: site, at: ApptimistStore.now)
    }
  }

  @Test func nothingOfAContactGoesForStrangers() async throws {
    var limits = ApptimistStore.Limits()
    limits.mailboxEntries = 6
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...2)
    try await store.makeContacts(1...2)
    try await Self.makeStrangers(10...19, of: "192.0.2.0/24", in: store)
    try await Self.makeStrangers(20...21, of: "198.51.100.0/24", in: store)
    func ids() async throws -> [MessageID] { try await store.entries(of: 1).map(\.id) }
    for id in 1...3 { _ = try await store.send(id, from: 2, to: 1) }
    #expect(try await store.send(200, from: 20, to: 1) == .delivered(Self.at(4)))
    for id in 10...14 { _ = try await store.send(id * 10, from: id, to: 1) }
    // Ten accounts of one site have as much as one account of another, and one more at most.
    #expect(try await ids() == [1, 2, 3, 200, 130, 140].map(StoreFixture.id))
    for id in 4...6 { _ = try await store.send(id, from: 2, to: 1) }
    #expect(try await ids() == (1...6).map(StoreFixture.id))
    #expect(try await store.send(150, from: 15, to: 1) == .refused)
    #expect(try await ids() == (1...6).map(StoreFixture.id))
    // Among contacts it is as ever.
    #expect(try await store.send(7, from: 2, to: 1) == .delivered(Self.at(13)))
    #expect(try await ids() == (2...7).map(StoreFixture.id))
    try await store.expectConsistency()
  }

  @Test func ofASiteTheSenderWhoHoldsMostLosesFirst() async throws {
    var limits = ApptimistStore.Limits()
    limits.mailboxEntries = 4
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...3)
    func ids() async throws -> [MessageID] { try await store.entries(of: 1).map(\.id) }
    _ = try await store.send(20, from: 2, to: 1)
    for id in 30...32 { _ = try await store.send(id, from: 3, to: 1) }
    _ = try await store.send(21, from: 2, to: 1)
    #expect(try await ids() == [20, 31, 32, 21].map(StoreFixture.id))
    _ = try await store.send(22, from: 2, to: 1)
    #expect(try await ids() == [31, 32, 21, 22].map(StoreFixture.id))
    _ = try await store.send(33, from: 3, to: 1)
    #expect(try await ids() == [32, 21, 22, 33].map(StoreFixture.id))
    try await store.expectConsistency()
  }

  @Test func whatAllDevicesHaveAcknowledgedGoesFirst() async throws {
    var limits = ApptimistStore.Limits()
    limits.mailboxEntries = 4
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...3)
    try await store.makeContacts(1...2)
    func ids() async throws -> [MessageID] { try await store.entries(of: 1).map(\.id) }
    for id in 1...4 { _ = try await store.send(id, from: 2, to: 1) }
    #expect(try await store.send(30, from: 3, to: 1) == .refused)
    for (device, position) in [(1, Int64(3)), (2, 2)] {
      let device = Acknowledgement.Device(user: StoreFixture.key(1), id: .test(device))
      try await store.acknowledge([Acknowledgement(device: device, position: Self.at(position))])
    }
    for id in 31...32 {
      #expect(try await store.send(id, from: 3, to: 1) == .delivered(Self.at(Int64(id) - 26)))
    }
    #expect(try await ids() == [3, 4, 31, 32].map(StoreFixture.id))
    try await store.expectConsistency()
  }

  @Test(arguments: [0, 100])
  func whoeverIsWrittenToIsNoStrangerAnyMore(_ pending: Int) async throws {
    var limits = ApptimistStore.Limits()
    limits.mailboxEntries = 6
    limits.pendingDeliveries = pending
    let store = try await fixture.open(limits)
    try await store.makeUsers(1...1)
    try await Self.makeStrangers(10...19, of: "192.0.2.0/24", in: store)
    func ids() async throws -> [MessageID] { try await store.entries(of: 1).map(\.id) }
    for (id, sender) in [(1, 10), (2, 11), (3, 10), (4, 11)] {
      _ = try await store.send(id, from: sender, to: 1)
    }
    try await store.recordContact(
      StoreFixture.key(10), of: StoreFixture.login(1), at: ApptimistStore.now)
    for id in 5...12 { _ = try await store.send(id, from: 12, to: 1) }
    #expect(try await ids() == [1, 3, 4, 10, 11, 12].map(StoreFixture.id))
    try await store.expectConsistency()
  }
}
