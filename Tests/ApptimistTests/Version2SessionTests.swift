internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol
internal import Testing

@testable import Apptimist

@Suite("The session of version 2 without sockets") struct Version2SessionTests {
  @Test func logsInAtOnce() throws {
    let bench = try Version2Bench()
    #expect(try bench.send(.new(try bench.new())) == [.asked("register")])
    #expect(bench.isWaiting)
    #expect(try bench.reply(.outcome(.done)) == [bench.answer(3, .success(.done))])
    try bench.establish(after: 4)
    #expect(try bench.handle(.timedOut) == [])
  }

  @Test func answersARefusalAfterTheSilence() throws {
    let bench = try Version2Bench()
    _ = try bench.send(.new(try bench.new()))
    #expect(try bench.reply(.outcome(.keyTaken)) == [.waits(.seconds(3))])
    #expect(try bench.send(.login(try bench.login())) == [])
    #expect(
      try bench.handle(.timedOut) == [bench.answer(3, .failure(.keyTaken), to: 1), .closed(1008)])
    #expect(try bench.handle(.timedOut) == [])
  }

  @Test func refusesWhatIsNotProved() throws {
    for fault in 0..<4 {
      let bench = try Version2Bench()
      var login = try bench.login()
      var error = ErrorCode.badField
      switch fault {
      case 0:
        login.possession = Version2.Possession()
        error = .wrongProof
      case 1: login.flags = .escrowed
      case 2: login.user = bench.keys.identity.encryptionKey
      default: login.user = EncryptionPublicKey()
      }
      #expect(try bench.send(.login(login)) == [.waits(.seconds(3))])
      #expect(
        try bench.handle(.timedOut) == [bench.answer(1, .failure(error)), .closed(1008)])
    }
    let bench = try Version2Bench()
    var login = try bench.login()
    login.signature = Signature()
    _ = try bench.send(.login(login))
    let account = AccountCredentials(
      isForum: false, authenticationKey: bench.user.authentication.publicKey)
    #expect(try bench.reply(.account(account)) == [.waits(.seconds(3))])
  }

  /// A box that doesn't open, or a header that is malformed, is met with silence before login only.
  @Test func isSilentAboutBrokenBoxesBeforeLogin() throws {
    let bench = try Version2Bench()
    #expect(try bench.handle(.received(.binary([1, 2, 3]))) == [.waits(.seconds(3))])
    #expect(try bench.handle(.timedOut) == [.closed(1008)])
    let later = try Version2Bench()
    try later.establish()
    #expect(try later.send(header: [2, 7, 0, 0, 0]) == [.closed(1008)])
  }

  @Test func gathersPostsAndAnswersInOrder() throws {
    let bench = try Version2Bench()
    try bench.establish()
    #expect(try bench.send(bench.message(1)) == [.asked("post")])
    #expect(try bench.send(bench.message(2)) == [])
    #expect(try bench.send(bench.message(3), isAnswered: false) == [])
    #expect(!bench.isWaiting)
    #expect(try bench.send(.pause) == [])
    #expect(bench.isWaiting)
    let first = PostOutcome.queued(
      isKnown: false, own: MailboxPosition(rawValue: 1), isOwnNew: true)
    #expect(
      try bench.reply(.outcomes([first])) == [
        bench.answer(5, .success(.placed(isKnown: false, position: 1)), to: 2), .asked("post"),
      ])
    let second = PostOutcome.queued(isKnown: true, own: nil, isOwnNew: false)
    #expect(
      try bench.reply(.outcomes([second, .refused(.notFound)])) == [
        bench.answer(5, .success(.placed(isKnown: true, position: 0)), to: 3),
        bench.answer(7, .success(.done), to: 4),
      ])
    // A store that failed is told of each post.
    _ = try bench.send(bench.message(5))
    #expect(try bench.reply(.failed) == [bench.answer(5, .failure(.internalError))])
  }

  /// A session's own entries aren't streamed to it; others' are, with their positions.
  @Test func streamsByPosition() throws {
    let bench = try Version2Bench()
    try bench.establish()
    _ = try bench.send(bench.message(1))
    let own = MailboxPosition(rawValue: 1)
    _ = try bench.reply(.outcomes([.queued(isKnown: false, own: own, isOwnNew: true)]))
    #expect(try bench.send(.ack(.init(position: 1))) == [bench.answer(19, .failure(.badField))])
    let did = try bench.queued(2)
    guard case .sent(.message(_, at: 2)) = did.first else {
      Issue.record("\(did)")
      return
    }
    #expect(try bench.send(.ack(.init(position: 3))) == [bench.answer(19, .failure(.badField))])
    #expect(try bench.send(.ack(.init(position: 2)), isAnswered: false) == [.asked("acknowledge")])
    #expect(try bench.reply(.outcome(.done)) == [])
    #expect(try bench.send(.ack(.init(position: 2))) == [.asked("acknowledge")])
    #expect(try bench.reply(.outcome(.done)) == [bench.answer(19, .success(.done))])
  }

  /// The stream has what an earlier session queued, also if this one sends it again.
  @Test func streamsWhatItDidNotQueueItself() throws {
    let bench = try Version2Bench()
    try bench.establish()
    _ = try bench.send(bench.message(1))
    let known = PostOutcome.queued(
      isKnown: true, own: MailboxPosition(rawValue: 1), isOwnNew: false)
    _ = try bench.reply(.outcomes([known]))
    guard case .sent(.message(_, at: 1)) = try bench.queued(1).first else {
      Issue.record("nothing was streamed")
      return
    }
  }

  /// An unknown type behind posts is answered behind them.
  @Test func answersUnknownTypesInTheirOrder() throws {
    let bench = try Version2Bench()
    try bench.establish()
    _ = try bench.send(bench.message(1))
    #expect(try bench.send(header: [2, 99, 0, 0, 0, 5]) == [])
    let outcome = PostOutcome.queued(isKnown: false, own: nil, isOwnNew: false)
    #expect(
      try bench.reply(.outcomes([outcome])) == [
        bench.answer(5, .success(.placed(isKnown: false, position: 0))),
        bench.answer(99, .failure(.noSuchType), to: 5),
      ])
  }

  /// The time to log in ends also while an identity provider or the store is awaited.
  @Test func isClosedWhileALoginWaits() throws {
    for step in 0..<3 {
      let bench = try Version2Bench()
      if step == 0 {
        _ = try bench.send(.new(try bench.new()))
      } else {
        _ = try bench.send(.login(try bench.login()))
      }
      let account = AccountCredentials(
        isForum: false, authenticationKey: bench.user.authentication.publicKey)
      if step == 2 { #expect(try bench.reply(.account(account)) == [.asked("begin")]) }
      #expect(try bench.handle(.timedOut) == [.closed(1008)])
      #expect(try bench.reply(step == 0 ? .outcome(.done) : .account(account)) == [])
    }
  }

  @Test func truncatesOnceMore() throws {
    let bench = try Version2Bench()
    try bench.establish()
    #expect(try bench.send(.truncate(.init(message: MessageID()))) == [.asked("truncate")])
    #expect(try bench.reply(.truncated(.again)) == [.asked("truncation")])
    #expect(
      try bench.reply(.position(MailboxPosition(rawValue: 8)))
        == [bench.answer(6, .success(.placed(isKnown: true, position: 8)))])
    _ = try bench.send(.truncate(.init(message: MessageID())))
    #expect(try bench.reply(.truncated(.never)) == [bench.answer(6, .failure(.notFound))])
  }

  @Test func tellsWhatIsNotThere() throws {
    let bench = try Version2Bench()
    #expect(try bench.send(.pause) == [bench.answer(7, .failure(.noSuchType))])
    try bench.establish()
    #expect(try bench.send(.login(try bench.login())) == [bench.answer(1, .failure(.noSuchType))])
    #expect(
      try bench.send(header: [2, 99, 0, 0, 0, 5, 1]) == [
        bench.answer(99, .failure(.noSuchType), to: 5)
      ])
    #expect(try bench.send(.resume, data: [1]) == [bench.answer(8, .failure(.badField))])
    #expect(try bench.send(.del(.init(key: bench.user.key))) == [.asked("deleteForum")])
    #expect(try bench.reply(.failed) == [bench.answer(4, .failure(.internalError))])
  }

  @Test func redirectsAndIsEvicted() throws {
    let bench = try Version2Bench()
    try bench.establish()
    let redirect = Version2.Redirect(
      reason: 1, uri: try #require(Version2.ShortText("ws://b/siren")))
    #expect(
      try bench.handle(.draining(to: "ws://b/siren")) == [
        .sent(.redirect(redirect)), .closed(1001),
      ])
    let other = try Version2Bench()
    try other.establish()
    #expect(try other.handle(.evicted) == [.closed(4008)])
  }
}
