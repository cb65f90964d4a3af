internal import Observability
internal import TestSupport
internal import Testing
internal import Platform

@testable import Push

/// The outbox's decisions on FCM's answers, row by row.
struct FCMMachineTests {
  private let start = Timestamp(seconds: 1_700_000_000)
  private let begun = Timestamp(seconds: 1_699_999_999)

  /// Returns the actions that follow an answer to the only push under way.
  private func actions(
    _ status: Int, _ code: String? = nil, detail: String? = nil, retryAfter: Int? = nil,
    isOfToken: Bool = false,
    attempts: Int = 1, isProven: Bool = true, again: Bool = false
  ) throws -> [OutboxMachine.Action] {
    let push = LeasedPush.test(attempts: attempts)
    var machine = OutboxMachine(
      OutboxMachine.Limits(of: .fcm), of: .fcm, isProven: isProven, random: \.upperBound)
    _ = machine.advance([], at: start)
    _ = machine.advance([.leased([push], next: nil)], at: start)
    let outcome = PushOutcome.responded(
      PushResponse(
        status: status, reason: code, detail: detail, timestamp: begun,
        retryAfter: retryAfter.map { .seconds($0) }, isOfToken: isOfToken))
    if again {
      #expect(
        machine.advance([.tried(1, outcome)], at: start) == [.refreshCredentials, .sendAgain(push)])
    }
    return machine.advance([.tried(1, outcome)], at: start).withoutWaiting
  }

  private func completed(_ completion: PushCompletion, attempts: Int = 1) throws
    -> OutboxMachine.Action
  {
    .complete(LeasedPush.test(attempts: attempts), completion)
  }

  private func retried(after seconds: Int, attempts: Int = 1) throws -> OutboxMachine.Action {
    try completed(.retried(at: start + .seconds(seconds)), attempts: attempts)
  }

  @Test func whatIsTakenIsDone() throws {
    #expect(try actions(200) == [try completed(.delivered)])
  }

  @Test(arguments: [true, false]) func aDeviceThatIsGoneEnds(isProven: Bool) throws {
    #expect(
      try actions(404, "UNREGISTERED", isProven: isProven) == [
        .report(.unbound(reason: "UNREGISTERED")), try completed(.unbound(boundBefore: begun)),
      ])
  }

  @Test(arguments: [(403, "SENDER_ID_MISMATCH", false), (400, "INVALID_ARGUMENT", true)])
  func aWrongTokenEndsOnceTheProjectIsProven(status: Int, code: String, isOfToken: Bool) throws {
    #expect(
      try actions(status, code, isOfToken: isOfToken) == [
        .report(.unbound(reason: code)), try completed(.unbound(boundBefore: nil)),
      ])
    #expect(
      try actions(status, code, isOfToken: isOfToken, isProven: false) == [
        .report(.targetInDoubt(reason: code, pause: .seconds(1))), try retried(after: 61),
      ])
  }

  @Test func aRefusedTokenIsReplacedOnce() throws {
    #expect(
      try actions(401, again: true) == [
        .report(.misconfigured(status: 401, reason: "no reason", pause: .seconds(1))),
        try retried(after: 1),
      ])
  }

  @Test(arguments: [403, 404]) func aSettingPausesAll(status: Int) throws {
    #expect(
      try actions(status) == [
        .report(.misconfigured(status: status, reason: "no reason", pause: .seconds(1))),
        try retried(after: 1),
      ])
  }

  @Test func theStatusStandsForAMissingCodeInTheLogAlone() throws {
    #expect(
      try actions(403, detail: "PERMISSION_DENIED") == [
        .report(.misconfigured(status: 403, reason: "PERMISSION_DENIED", pause: .seconds(1))),
        try retried(after: 1),
      ])
  }

  @Test func whatFirebaseLacksIsDroppedWithoutANewToken() throws {
    #expect(
      try actions(401, "THIRD_PARTY_AUTH_ERROR") == [
        .report(.appLacksKey), try completed(.dropped(.refused)),
      ])
  }

  @Test func theQuotaIsWaitedFor() throws {
    for code in ["QUOTA_EXCEEDED", nil] {
      #expect(try actions(429, code) == [try retried(after: 60)])
      #expect(try actions(429, code, retryAfter: 5) == [try retried(after: 5)])
      #expect(try actions(429, code, retryAfter: 0) == [try retried(after: 1)])
      #expect(try actions(429, code, retryAfter: 1_000_000) == [try retried(after: 86_400)])
    }
  }

  @Test(arguments: [(500, "INTERNAL"), (503, "UNAVAILABLE"), (500, nil), (502, nil), (503, "X")])
  func aFailureIsTriedAgainAfterTwentySecondsAndMore(status: Int, code: String?) throws {
    for (attempts, wait) in [(1, 20), (2, 40), (5, 320), (6, 600), (1000, 600)] {
      #expect(
        try actions(status, code, attempts: attempts)
          == [try retried(after: wait, attempts: attempts)])
      // In its place, even if that is shorter.
      #expect(
        try actions(status, code, retryAfter: 3, attempts: attempts)
          == [try retried(after: 3, attempts: attempts)])
    }
  }

  @Test(
    arguments: [
      (400, "INVALID_ARGUMENT"), (400, "UNSPECIFIED_ERROR"), (400, nil), (413, nil), (302, nil),
      (401, "X"), (403, "X"), (404, "X"), (201, nil),
    ] as [(Int, String?)])
  func anythingElseIsDropped(status: Int, code: String?) throws {
    #expect(
      try actions(status, code) == [
        .report(.refused(status: status, reason: code ?? "no reason")),
        try completed(.dropped(.refused)),
      ])
  }

  @Test func aBrokenConnectionIsTriedAgainAndNoneAtAllPauses() throws {
    let push = LeasedPush.test()
    for (outcome, last) in [
      (PushOutcome.disconnected, try retried(after: 20)),
      (.unreachable("no access token: x"), try retried(after: 1)),
      (.cancelled, try retried(after: 0)),
    ] {
      var machine = OutboxMachine(
        OutboxMachine.Limits(of: .fcm), of: .fcm, isProven: true, random: \.upperBound)
      _ = machine.advance([], at: start)
      _ = machine.advance([.leased([push], next: nil)], at: start)
      #expect(machine.advance([.tried(1, outcome)], at: start).last == last)
    }
  }
}
