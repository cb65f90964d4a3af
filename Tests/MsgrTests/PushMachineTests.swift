internal import Observability
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr
@testable import Push

/// The outbox's decisions, without store and push service.
struct PushMachineTests {
  private typealias Action = OutboxMachine.Action

  private let start = Timestamp(seconds: 1_700_000_000)

  private func machine(
    _ kind: PushKind = .apns, isProven: Bool = true, inFlight: Int = 10
  ) -> OutboxMachine {
    let limits = OutboxMachine.Limits(inFlight: inFlight, of: kind)
    var machine = OutboxMachine(limits, of: kind, isProven: isProven, random: \.upperBound)
    #expect(machine.advance([], at: start) == [.lease(atMost: inFlight)])
    return machine
  }

  /// A machine with one push under way.
  private func sending(
    _ push: Push, by kind: PushKind = .apns, isProven: Bool = true
  ) -> OutboxMachine {
    var machine = machine(kind, isProven: isProven)
    #expect(machine.advance([.leased([push], next: nil)], at: start) == [.send(push)])
    return machine
  }

  private func response(
    _ status: Int, _ reason: String? = nil, timestamp: Int64? = nil, retryAfter: Int? = nil,
    isOfToken: Bool = false
  ) -> PushOutcome {
    .responded(
      PushResponse(
        status: status, reason: reason, timestamp: timestamp.map(Timestamp.init(seconds:)),
        retryAfter: retryAfter.map { .seconds($0) }, isOfToken: isOfToken))
  }

  @Test func sendsWhatIsDueAtMostSoManyAtOnce() throws {
    var machine = machine(inFlight: 2)
    let pushes = try (1...2).map { try PushFixture.push(Int64($0), device: $0) }
    #expect(
      machine.advance([.leased(pushes, next: start)], at: start) == pushes.map(Action.send))
    #expect(machine.advance([.news], at: start) == [])
    #expect(
      machine.advance([.tried(1, response(200))], at: start) == [.settle(pushes[0], .delivered)])
    // Its place is free when the store has noted it.
    #expect(machine.advance([.settled(1)], at: start) == [.lease(atMost: 1)])
    #expect(machine.unsettled == [pushes[1]])
  }

  @Test func wakesWhenTheNextIsDueAndLooksFromTimeToTime() throws {
    var machine = machine()
    let due = start + .seconds(2)
    #expect(machine.advance([.leased([], next: due)], at: start) == [])
    #expect(machine.wakeTime(at: start) == due)
    #expect(machine.advance([], at: start + .seconds(1)) == [])
    #expect(machine.advance([], at: due) == [.lease(atMost: 10)])
    #expect(machine.wakeTime(at: due) > due)
    #expect(machine.advance([.leased([], next: nil)], at: due) == [])
    #expect(machine.wakeTime(at: due) == due + .seconds(5))
    #expect(machine.advance([], at: due + .seconds(5)) == [.lease(atMost: 10)])
  }

  @Test func newsThatComeWhileItLeasesAreNotForgotten() throws {
    var machine = machine()
    #expect(machine.advance([.news], at: start) == [])
    #expect(machine.advance([.leased([], next: nil)], at: start) == [.lease(atMost: 10)])
  }

  @Test func aClockThatIsSetBackStopsNothing() throws {
    var machine = machine()
    #expect(machine.advance([.leased([], next: nil)], at: start) == [])
    let past = start + .seconds(-86_400)
    #expect(machine.advance([], at: past) == [.lease(atMost: 10)])
    #expect(machine.advance([.storeFailed], at: past) == [])
    #expect(machine.advance([.news], at: past + .seconds(-86_400)) == [.lease(atMost: 10)])
  }

  @Test(arguments: [429, 500, 503, 599])
  func triesAgainAfterTwiceAsLongEachTimeUpToALimit(status: Int) throws {
    for (attempts, wait) in [(1, 1), (2, 2), (5, 16), (10, 512), (11, 600), (1000, 600)] {
      let push = try PushFixture.push(attempts: attempts)
      var machine = sending(push)
      #expect(
        machine.advance([.tried(1, response(status, "Shutdown"))], at: start)
          == [.settle(push, .retried(at: start + .seconds(wait)))])
    }
  }

  @Test func spreadsTheNextTries() throws {
    let push = try PushFixture.push(attempts: 5)
    var machine = OutboxMachine(OutboxMachine.Limits(), isProven: true, random: \.lowerBound)
    _ = machine.advance([], at: start)
    _ = machine.advance([.leased([push], next: nil)], at: start)
    #expect(
      machine.advance([.tried(1, .disconnected)], at: start)
        == [.settle(push, .retried(at: start + .seconds(8)))])
  }

  @Test(arguments: [(1, 1), (100, 100), (1_000_000, 86_400)])
  func waitsAsLongAsItIsToldToForADayAtMost(told: Int, wait: Int) throws {
    let push = try PushFixture.push()
    var machine = sending(push)
    #expect(
      machine.advance([.tried(1, response(429, retryAfter: told))], at: start)
        == [.settle(push, .retried(at: start + .seconds(wait)))])
  }

  @Test func aBrokenConnectionIsTriedAgain() throws {
    let push = try PushFixture.push()
    var machine = sending(push)
    #expect(
      machine.advance([.tried(1, .disconnected)], at: start)
        == [.settle(push, .retried(at: start + .seconds(1)))])
  }

  @Test func dropsWhatWouldComeTooLate() throws {
    let late = try PushFixture.push(expires: start.seconds)
    var machine = machine()
    #expect(
      machine.advance([.leased([late], next: nil)], at: start)
        == [.report(.expired), .settle(late, .dropped(.expired))])
    let soon = try PushFixture.push(expires: start.seconds + 100)
    machine = sending(soon)
    #expect(
      machine.advance([.tried(1, response(503, retryAfter: 100))], at: start)
        == [.report(.expired), .settle(soon, .dropped(.expired))])
  }

  @Test func aTokenThatHasExpiredIsRenewedOnce() throws {
    let push = try PushFixture.push()
    var machine = sending(push)
    let expired = response(403, "ExpiredProviderToken")
    #expect(
      machine.advance([.tried(1, expired)], at: start) == [.refreshCredentials, .sendAgain(push)])
    #expect(
      machine.advance([.tried(1, expired)], at: start)
        == [
          .report(
            .misconfigured(status: 403, reason: "ExpiredProviderToken", pause: .seconds(1))),
          .settle(push, .retried(at: start + .seconds(1))),
        ])
  }

  @Test func aDeviceThatIsGoneIsUnboundIfItWasGoneAfterItWasBound() throws {
    let push = try PushFixture.push()
    var machine = sending(push)
    #expect(
      machine.advance(
        [.tried(1, response(410, "Unregistered", timestamp: 1_600_000_000))], at: start)
        == [
          .report(.unbound(reason: "Unregistered")),
          .settle(push, .unbound(boundBefore: Timestamp(seconds: 1_600_000_000))),
        ])
    machine = sending(push)
    #expect(
      machine.advance([.tried(1, response(410, "Unregistered"))], at: start).last
        == .settle(push, .dropped(.refused)))
  }

  @Test(arguments: ["BadDeviceToken", "DeviceTokenNotForTopic"])
  func aBadDeviceIsUnboundByAProvenPushServiceOnly(reason: String) throws {
    let push = try PushFixture.push()
    var machine = sending(push)
    #expect(
      machine.advance([.tried(1, response(400, reason))], at: start).last
        == .settle(push, .unbound(boundBefore: nil)))

    machine = sending(push, isProven: false)
    let actions = machine.advance([.tried(1, response(400, reason))], at: start)
    #expect(actions.first == .report(.targetInDoubt(reason: reason, pause: .seconds(1))))
    #expect(actions.last == .settle(push, .retried(at: start + .seconds(61))))
    // All are paused, then one is tried at a time, until one is taken.
    #expect(machine.advance([.settled(1), .news], at: start) == [])
    #expect(machine.wakeTime(at: start) == start + .seconds(1))
    var now = start + .seconds(1)
    #expect(machine.advance([], at: now) == [.lease(atMost: 1)])
    let second = try PushFixture.push(2, device: 2)
    _ = machine.advance([.leased([second], next: nil)], at: now)
    let again = machine.advance([.tried(2, response(400, reason))], at: now)
    #expect(again.first == .report(.targetInDoubt(reason: reason, pause: .seconds(2))))
    now = now + .seconds(2)
    #expect(machine.advance([.settled(2)], at: now) == [.lease(atMost: 1)])
    let third = try PushFixture.push(3, device: 3)
    _ = machine.advance([.leased([third], next: nil)], at: now)
    _ = machine.advance([.tried(3, response(200))], at: now)
    #expect(machine.advance([.settled(3)], at: now) == [.lease(atMost: 10)])
    _ = machine.advance([.leased([push], next: nil)], at: now)
    #expect(
      machine.advance([.tried(1, response(400, reason))], at: now).last
        == .settle(push, .unbound(boundBefore: nil)))
  }

  @Test func aPushServiceThatCantBeReachedPausesAll() throws {
    let pushes = try (1...2).map { try PushFixture.push(Int64($0), device: $0) }
    var machine = machine()
    _ = machine.advance([.leased(pushes, next: nil)], at: start)
    let pause = start + .seconds(1)
    // Said once a pause.
    #expect(
      machine.advance([.tried(1, .unreachable("why")), .tried(2, .unreachable("why"))], at: start)
        == [
          .report(.unreachable("why", pause: .seconds(1))),
          .settle(pushes[0], .retried(at: pause)), .settle(pushes[1], .retried(at: pause)),
        ])
    #expect(machine.advance([.settled(1), .settled(2)], at: start) == [])
    // Then one tries.
    #expect(machine.advance([], at: pause) == [.lease(atMost: 1)])
    _ = machine.advance([.leased([pushes[0]], next: nil)], at: pause)
    _ = machine.advance([.tried(1, response(200))], at: pause)
    #expect(machine.advance([.settled(1)], at: pause) == [.lease(atMost: 10)])
  }

  @Test(
    arguments: [
      (403, "InvalidProviderToken"), (403, nil), (400, "TopicDisallowed"), (400, "BadTopic"),
    ] as [(Int, String?)])
  func whatTheOperatorHasToMendPausesAll(status: Int, reason: String?) throws {
    let push = try PushFixture.push()
    var machine = sending(push)
    let pause = Duration.seconds(1)
    #expect(
      machine.advance([.tried(1, response(status, reason))], at: start)
        == [
          .report(
            .misconfigured(status: status, reason: reason ?? "no reason", pause: pause)),
          .settle(push, .retried(at: start + pause)),
        ])
  }

  @Test(
    arguments: [
      (404, "BadPath"), (413, "PayloadTooLarge"),
      (405, nil), (200 + 1, nil), (302, nil),
    ] as [(Int, String?)])
  func anythingElseIsDropped(status: Int, reason: String?) throws {
    let push = try PushFixture.push()
    var machine = sending(push)
    #expect(
      machine.advance([.tried(1, response(status, reason))], at: start)
        == [
          .report(.refused(status: status, reason: reason ?? "no reason")),
          .settle(push, .dropped(.refused)),
        ])
  }

  @Test func whatWasInterruptedIsGivenBack() throws {
    let push = try PushFixture.push(attempts: 9)
    var machine = sending(push)
    #expect(
      machine.advance([.tried(1, .cancelled)], at: start) == [.settle(push, .retried(at: start))])
    #expect(machine.advance([.tried(7, .cancelled)], at: start) == [])
  }
}
