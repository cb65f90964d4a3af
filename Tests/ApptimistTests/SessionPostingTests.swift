internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol
internal import Testing
internal import TestSupport

@testable import Apptimist

@Suite("Posts that come while others are being queued") struct SessionPostingTests {
  private let other = TestUser("bob").key

  private func post(_ time: Int, of bench: Bench, to: EncryptionPublicKey? = nil) -> PDU {
    let to = to ?? other
    return .message(
      PDU.Message(time: UInt64(time), recipient: to, to: to, from: bench.user.key))
  }

  @Test func areAskedTogetherNext() throws {
    let bench = try Bench()
    try bench.establish()
    #expect(try bench.send(post(1, of: bench)) == [.asked("post")])
    for time in 2...4 { #expect(try bench.send(post(time, of: bench)) == []) }
    #expect(!bench.isWaiting)
    #expect(bench.posted == [1])
    #expect(try bench.reply(.posted([])) == [.asked("post")])
    #expect(bench.posted == [1, 2, 3, 4])
    #expect(try bench.reply(.posted([])) == [])
    #expect(try bench.send(post(5, of: bench)) == [.asked("post")])
  }

  @Test func areNotOvertaken() throws {
    let bench = try Bench()
    try bench.establish()
    _ = try bench.send(post(1, of: bench))
    _ = try bench.send(post(2, of: bench))
    #expect(try bench.send(.searchByKey(PDU.SearchByKey(key: other))) == [])
    #expect(bench.isWaiting)
    #expect(try bench.reply(.posted([])) == [.asked("post")])
    #expect(bench.isWaiting)
    #expect(try bench.reply(.posted([])) == [.asked("find")])
    #expect(bench.isWaiting)
    #expect(try bench.reply(.found([])) == [.sent(.user(.nobody))])
    #expect(!bench.isWaiting)
  }

  @Test func areLimitedInNumberAndBytes() throws {
    let limits = SessionLimits()
    for size in [0, 10 << 10, limits.batchBytes] {
      let bench = try Bench()
      try bench.establish()
      _ = try bench.send(post(0, of: bench))
      var count = 0
      while !bench.isWaiting {
        count += 1
        #expect(
          try bench.send(post(count, of: bench), data: [UInt8](repeating: 1, count: size)) == [])
      }
      #expect(count - 1 == min(limits.batchPosts, limits.batchBytes / (size + 106)))
      // The one that was too much for them comes behind them.
      while bench.posted.count <= count {
        #expect(try bench.reply(.posted([])) == [.asked("post")])
      }
      #expect(bench.posted == Array(0...count))
    }
  }

  @Test func areKnownForTheSessionsOwn() throws {
    let bench = try Bench()
    try bench.establish()
    #expect(bench.nextRead() == 0)
    for time in 1...3 { _ = try bench.send(post(time, of: bench, to: bench.user.key)) }
    // Another session's of the same user is none of those that are being queued.
    let entry = { Bench.entry($0, from: bench.user.key, to: bench.user.key) }
    #expect(
      try bench.page([entry(7)], end: 7)
        == [.sent(Bench.message(7, from: bench.user.key, to: bench.user.key))])
    #expect(try bench.reply(.posted([MailboxPosition(rawValue: 8)])) == [.asked("post")])
    _ = try bench.queue(12, from: other)
    #expect(bench.nextRead() == 8)
    #expect(try bench.page([entry(2), entry(3)].map { $0.moved(by: 7) }, end: 10) == [])
    let own = [9, 10].map { MailboxPosition(rawValue: $0) }
    #expect(try bench.reply(.posted(own)) == [])
    #expect(bench.nextRead() == 10)
  }

  @Test func areQueuedWhenTheDeviceIsGone() throws {
    let bench = try Bench()
    try bench.establish()
    for time in 1...3 { _ = try bench.send(post(time, of: bench)) }
    _ = try bench.send(.truncate(PDU.Truncate(message: MessageID())))
    try bench.handle(.ended)
    let isOver = bench.session.isOver
    #expect(isOver)
    #expect(try bench.reply(.posted([])) == [.asked("post")])
    #expect(bench.posted == [1, 2, 3])
    #expect(try bench.reply(.posted([])) == [.asked("truncate")])
    #expect(try bench.reply(.truncated(.again)) == [])
  }

  @Test func areQueuedWhenTheSessionIsClosed() throws {
    for close in 0..<3 {
      let bench = try Bench()
      try bench.establish()
      for time in 1...3 { _ = try bench.send(post(time, of: bench)) }
      let last =
        switch close {
        case 0: try bench.send(header: [2, 1])
        case 1: try bench.handle(.evicted)
        default: try bench.handle(.draining(to: nil)) + [.closed(1008)]
        }
      #expect(last == [.closed(1008)])
      #expect(try bench.send(post(4, of: bench)) == [])
      #expect(try bench.reply(.posted([])) == [.asked("post")])
      try bench.handle(.ended)
      #expect(try bench.reply(.posted([])) == [])
      #expect(bench.posted == [1, 2, 3])
    }
  }

  @Test func endWithAFailure() throws {
    let bench = try Bench()
    try bench.establish()
    for time in 1...3 { _ = try bench.send(post(time, of: bench)) }
    #expect(try bench.reply(.failed) == [.closed(1011)])
    #expect(try bench.reply(.posted([])) == [])
    #expect(bench.posted == [1])
  }

  @Test func areTheLastBeforeARedirect() throws {
    let bench = try Bench()
    try bench.establish()
    // The counter is used up amid posts: one is being queued whenever another comes.
    var last: [Bench.Did] = []
    for time in 0..<40_000 where !bench.session.isOver {
      _ = try bench.send(post(time, of: bench))
      if bench.isWaiting { while bench.isAsking { last = try bench.replyToAny() } }
    }
    #expect(
      last == [.sent(.redirect(try #require(PDU.Redirect(uri: "ws://h/siren")))), .closed(1001)])
    #expect(bench.posted == Array(0..<bench.posted.count))
    #expect((32_490...32_510).contains(bench.posted.count))
  }

  /// Everything is asked for in the order in which it came, and nothing else while posts are queued.
  @Test(arguments: TestSeeds.random(6))
  func keepTheOrder(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let bench = try Bench()
    try bench.establish()
    var sent: [Int] = []
    for time in 0..<400 {
      while bench.isAsking, bench.isWaiting || Int.random(in: 0..<4, using: &generator) == 0 {
        _ = try bench.replyToAny()
      }
      sent.append(time)
      switch Int.random(in: 0..<10, using: &generator) {
      case 0:
        _ = try bench.send(
          .searchByName(
            PDU.SearchByName(maxUsers: 1, text: try #require(ShortBytes("\(time)")))))
      case 1:
        let data = [UInt8](repeating: 0, count: 200 << 10)
        _ = try bench.send(post(time, of: bench), data: data)
      default: _ = try bench.send(post(time, of: bench))
      }
    }
    while bench.isAsking { _ = try bench.replyToAny() }
    #expect(bench.done == sent)
    #expect(bench.mostAtOnce == 1)
  }
}

extension MailboxEntry {
  /// The same entry at a later position.
  fileprivate func moved(by distance: Int64) -> MailboxEntry {
    MailboxEntry(
      position: MailboxPosition(rawValue: position.rawValue + distance), id: id, content: content)
  }
}
