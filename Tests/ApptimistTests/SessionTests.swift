internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import Apptimist

@Suite("The session without sockets") struct SessionTests {
  private let other = TestUser("bob").key

  @Test func claimsTheKeyBeforeAnythingElse() throws {
    let bench = try Bench()
    #expect(try bench.handle(.opened) == [.waits(.seconds(30))])
    #expect(try bench.send(try bench.user.new()) == [.asked("claim")])
    #expect(bench.isWaiting)
    #expect(try bench.reply(.claimed(true)) == [.asked("register")])
    #expect(try bench.reply(.outcome(.done)) == [])
    #expect(try bench.send(bench.user.login()) == [.asked("account")])
    #expect(
      try bench.reply(.account(AccountCredentials(bench.user)))
        == [.asked("start")])
    #expect(bench.nextRead() == nil)
    #expect(try bench.reply(.started(.zero)) == [.joined(bench.user.key)])
    #expect(bench.nextRead() == 0)
    #expect(try bench.handle(.timedOut) == [])
  }

  @Test func closesAReplay() throws {
    let bench = try Bench()
    _ = try bench.send(bench.user.login())
    #expect(try bench.reply(.claimed(false)) == [.closed(1008)])
    #expect(try bench.send(.pause(PDU.Pause())) == [])
    // Also one whose key was forgotten in memory and is found on disk: it closes nobody's session.
    let late = try Bench()
    _ = try late.send(late.user.login())
    _ = try late.reply(.claimed(true))
    _ = try late.reply(.account(AccountCredentials(late.user)))
    #expect(try late.reply(.claimed(false)) == [.closed(1008)])
  }

  @Test func isSilentBeforeItRefuses() throws {
    let bench = try Bench()
    _ = try bench.send(try bench.user.new())
    _ = try bench.reply(.claimed(true))
    #expect(try bench.reply(.outcome(.notPermitted)) == [.waits(.seconds(3))])
    #expect(try bench.send(bench.user.login()) == [])
    #expect(!bench.isWaiting)
    #expect(try bench.handle(.timedOut) == [.closed(1008)])
    #expect(try bench.handle(.timedOut) == [])
  }

  @Test func tellsWhatItCannotDo() throws {
    let bench = try Bench()
    try bench.establish()
    _ = try bench.send(
      .truncate(PDU.Truncate(message: MessageID())))
    #expect(try bench.reply(.failed) == [.closed(1011)])
  }

  @Test func sendsBeforeTheKeyIsClaimedNothingAtAll() throws {
    let bench = try Bench()
    #expect(try bench.handle(.draining(to: "ws://elsewhere/")) == [])
    let claimed = try Bench()
    _ = try claimed.send(.pause(PDU.Pause()))
    _ = try claimed.reply(.claimed(true))
    #expect(
      try claimed.handle(.draining(to: "ws://elsewhere/"))
        == [.sent(.redirect(try #require(PDU.Redirect(uri: "ws://elsewhere/")))), .closed(1001)])
  }

  @Test func sendsTheNextEntryAtOnceAndReadsAfterAGap() throws {
    let bench = try Bench()
    try bench.establish(after: 4)
    #expect(bench.nextRead() == 4)
    #expect(try bench.page([], end: 4) == [])
    #expect(bench.nextRead() == nil)
    #expect(
      try bench.queue(5, from: other) == [.sent(Bench.message(5, from: other, to: bench.user.key))])
    #expect(try bench.queue(7, from: other) == [])
    #expect(bench.nextRead() == 5)
    let entries = [6, 7].map { Bench.entry($0, from: other, to: bench.user.key) }
    #expect(try bench.page(entries, end: 7).count == 2)
    #expect(try bench.queue(6, from: other) == [])
    #expect(bench.nextRead() == nil)
  }

  @Test func leavesOutWhatItIsJustSending() throws {
    let bench = try Bench()
    try bench.establish()
    #expect(bench.nextRead() == 0)
    let own = PDU.message(
      PDU.Message(
        time: 2, recipient: bench.user.key, to: bench.user.key, from: bench.user.key))
    #expect(try bench.send(own) == [.asked("post")])
    // The page was read after the message was committed, but before the session was told.
    let entries = [
      Bench.entry(1, from: other, to: bench.user.key),
      Bench.entry(2, from: bench.user.key, to: bench.user.key),
      Bench.entry(3, from: other, to: bench.user.key),
    ]
    #expect(
      try bench.page(entries, end: 3)
        == [.sent(Bench.message(1, from: other, to: bench.user.key))])
    #expect(bench.nextRead() == nil)
    #expect(try bench.reply(.posted([MailboxPosition(rawValue: 2)])) == [])
    #expect(bench.nextRead() == 2)
    #expect(
      try bench.page([entries[2]], end: 3)
        == [.sent(Bench.message(3, from: other, to: bench.user.key))])
  }

  @Test func readsNothingForASlowReader() throws {
    let bench = try Bench()
    try bench.establish()
    bench.isBackedUp = true
    #expect(bench.nextRead() == nil)
    #expect(try bench.queue(1, from: other) == [])
    bench.isBackedUp = false
    #expect(bench.nextRead() == 0)
  }

  @Test func redirectsInTheMiddleOfAReply() throws {
    let bench = try Bench()
    try bench.establish()
    let bob = Version2.User(
      key: other, authenticationKey: AuthenticationPublicKey(), kind: .user, flags: [],
      name: try #require(ShortBytes("bob")), uid: .empty)
    let found = [Version2.User](repeating: bob, count: 1000)
    var sent = 0
    var last: [Bench.Did] = []
    while last.last != .closed(1001), sent < 40_000 {
      _ = try bench.send(.searchByKey(PDU.SearchByKey(key: other)))
      last = try bench.reply(.found(found))
      sent += last.count
    }
    #expect(last.count < 1000)
    #expect(
      last.suffix(2)
        == [.sent(.redirect(try #require(PDU.Redirect(uri: "ws://h/siren")))), .closed(1001)])
    // The last PDU before it had a counter above 65,000, and the one before that hadn't.
    #expect((32_500...32_504).contains(sent))
  }

  @Test func isNotDisturbedByRepliesAfterTheEnd() throws {
    let bench = try Bench()
    try bench.establish()
    _ = try bench.send(.searchByKey(PDU.SearchByKey(key: other)))
    try bench.handle(.ended)
    #expect(try bench.reply(.found([])) == [])
    #expect(try bench.queue(1, from: other) == [])
    #expect(bench.nextRead() == nil)
  }

  @Test func countsWhatComesAndIsSent() throws {
    let bench = try Bench()
    try bench.establish()
    _ = try bench.send(header: [1, 99])
    _ = try bench.send(.user(.nobody))
    _ = try bench.queue(1, from: other)
    _ = try bench.send(.searchByKey(PDU.SearchByKey(key: other)))
    _ = try bench.reply(.found([]))
    _ = try bench.send(
      .message(
        PDU.Message(time: 1, recipient: other, to: other, from: bench.user.key)))
    _ = try bench.send(.redirect(try #require(PDU.Redirect(uri: "ws://x/"))))
    _ = try bench.reply(.posted([]))
    _ = try bench.handle(.draining(to: "ws://elsewhere/"))
    #expect(
      bench.counted == [
        "received(type: 1)", "ignored", "received(type: 14)", "ignored", "message",
        "received(type: 13)", "other", "received(type: 5)", "received(type: 2)", "ignored",
        "redirect",
      ])
    let refused = try Bench()
    _ = try refused.send(header: [2])
    _ = try refused.reply(.claimed(true))
    #expect(refused.counted == ["refused"])
  }

  @Test func asksForThePostponedWhenTheServerStopsWithoutSayingWhereTo() throws {
    for isRedirected in [false, true] {
      let bench = try Bench()
      try bench.establish()
      _ = try bench.send(
        .message(PDU.Message(time: 1, recipient: other, to: other, from: bench.user.key)))
      _ = try bench.send(.searchByKey(PDU.SearchByKey(key: other)))
      _ = try bench.handle(.draining(to: isRedirected ? "ws://elsewhere/" : nil))
      try bench.handle(.ended)
      #expect(try bench.reply(.posted([])) == (isRedirected ? [] : [.asked("find")]))
      #expect(try bench.reply(.found([])) == [])
    }
  }

  @Test(arguments: TestSeeds.random(1)) func takesRandomMessages(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    func bytes(_ limit: Int) -> [UInt8] {
      (0..<Int.random(in: 0...limit, using: &generator)).map { _ in
        .random(in: 0...255, using: &generator)
      }
    }
    for _ in 0..<2000 {
      let bench = try Bench()
      if Bool.random(using: &generator) { try bench.establish() }
      for _ in 0..<5 {
        let type = UInt8.random(in: 0...20, using: &generator)
        let rest = bytes(200)
        _ = try bench.send(header: [1, type] + rest, data: Array(rest.prefix(20)))
        if bench.session.isWaiting { _ = try bench.reply(.claimed(true)) }
      }
      if !bench.isWaiting { try bench.handle(.received(.binary(bytes(64)))) }
    }
  }
}
