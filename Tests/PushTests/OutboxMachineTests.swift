internal import Observability
internal import TestSupport
internal import Testing
internal import Platform

@testable import Push

/// The outbox's decisions, without store and push service.
struct OutboxMachineTests {
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
    _ push: LeasedPush, by kind: PushKind = .apns, isProven: Bool = true
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
    let pushes = (1...2).map { LeasedPush.test(Int64($0), device: $0) }
    #expect(
      machine.advance([.leased(pushes, next: start)], at: start) == pushes.map(Action.send))
    #expect(machine.advance([.queued], at: start) == [])
    // Its place is free as the push service has done with it.
    #expect(
      machine.advance([.tried(1, response(200))], at: start) == [
        .complete(pushes[0], .delivered), .lease(atMost: 1),
      ])
    #expect(Set(machine.unfinished.map(\.id)) == [1, 2])
    _ = machine.advance([.completed(1)], at: start)
    #expect(machine.unfinished == [pushes[1]])
  }

  @Test func waitsForAStoreThatIsSlowerThanThePushService() {
    var machine = machine(inFlight: 2)
    for id in stride(from: Int64(1), through: 7, by: 2) {
      let pushes = [LeasedPush.test(id, device: Int(id)), .test(id + 1, device: Int(id) + 1)]
      #expect(
        machine.advance([.leased(pushes, next: start)], at: start) == pushes.map(Action.send))
      _ = machine.advance(pushes.map { .tried($0.id, response(200)) }, at: start)
    }
    #expect(machine.unfinished.count == 8)
    #expect(machine.advance([.leased([], next: start)], at: start) == [])
    #expect(machine.advance([.completed(3)], at: start) == [.lease(atMost: 1)])
  }

  @Test func leasesNoMoreAsTheyAreQueuedThanIsSet() {
    var limits = OutboxMachine.Limits(inFlight: 10)
    limits.leasedAsQueued = 2
    var machine = OutboxMachine(limits, isProven: true) { _ in 1 }
    _ = machine.advance([], at: start)
    _ = machine.advance([.leased([.test(1, device: 1)], next: nil)], at: start)
    #expect(machine.freePlaces(at: start) == 1)
    // One that is being recorded counts as well.
    _ = machine.advance([.tried(1, response(200))], at: start)
    #expect(machine.freePlaces(at: start) == 1)
    _ = machine.advance([.received([.test(2, device: 2)])], at: start)
    #expect(machine.freePlaces(at: start) == 0)
  }

  @Test func sendsWhatWasLeasedAsItWasQueued() {
    var machine = machine(inFlight: 2)
    #expect(machine.freePlaces(at: start) == 0)
    #expect(machine.advance([.leased([], next: nil)], at: start) == [])
    #expect(machine.freePlaces(at: start) == 2)
    let push = LeasedPush.test(1)
    #expect(machine.advance([.received([push])], at: start) == [.send(push)])
    #expect(machine.freePlaces(at: start) == 1)
    #expect(
      machine.advance([.tried(1, response(200))], at: start) == [.complete(push, .delivered)])
  }

  @Test func aPushThatComesLateHasItsLeaseRenewedFirst() {
    let late = LeasedPush.test(leaseEnd: start + .seconds(13))
    var machine = machine()
    #expect(machine.advance([.leased([late], next: nil)], at: start) == [.sendAgain(late)])
  }

  @Test func nothingIsSentTwiceAtOnceAfterItsLeaseRanOut() {
    let push = LeasedPush.test()
    var machine = sending(push)
    #expect(
      machine.advance([.leased([.test(attempts: 2)], next: nil)], at: start + .seconds(16))
        .filter { if case .lease = $0 { false } else { true } } == [])
    #expect(machine.unfinished == [push])
  }

  @Test func leavesNoPlacesWhileOthersAreDueLonger() {
    var machine = machine(inFlight: 2)
    _ = machine.advance([.leased([.test(1, device: 1)], next: start)], at: start)
    #expect(machine.freePlaces(at: start) == 0)
    _ = machine.advance([.tried(1, response(200)), .completed(1)], at: start)
    _ = machine.advance([.leased([], next: start + .seconds(1))], at: start)
    #expect(machine.freePlaces(at: start) == 2)
    // Nor while the push service can't be reached.
    _ = machine.advance([.received([.test(2, device: 2)])], at: start)
    _ = machine.advance([.tried(2, .unreachable("no route"))], at: start)
    #expect(machine.freePlaces(at: start) == 0)
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
    #expect(machine.advance([.queued], at: start) == [])
    #expect(machine.advance([.leased([], next: nil)], at: start) == [.lease(atMost: 10)])
  }

  @Test func aClockThatIsSetBackStopsNothing() throws {
    var machine = machine()
    #expect(machine.advance([.leased([], next: nil)], at: start) == [])
    let past = start + .seconds(-86_400)
    #expect(machine.advance([], at: past) == [.lease(atMost: 10)])
    #expect(machine.advance([.storeFailed], at: past) == [])
    #expect(machine.advance([.queued], at: past + .seconds(-86_400)) == [.lease(atMost: 10)])
  }

  @Test(arguments: [429, 500, 503, 599])
  func triesAgainAfterTwiceAsLongEachTimeUpToALimit(status: Int) throws {
    for (attempts, wait) in [(1, 1), (2, 2), (5, 16), (10, 512), (11, 600), (1000, 600)] {
      let push = LeasedPush.test(attempts: attempts)
      var machine = sending(push)
      #expect(
        machine.advance([.tried(1, response(status, "Shutdown"))], at: start).withoutWaiting
          == [.complete(push, .retried(at: start + .seconds(wait)))])
    }
  }

  @Test func spreadsTheNextTries() throws {
    let push = LeasedPush.test(attempts: 5)
    var machine = OutboxMachine(OutboxMachine.Limits(), isProven: true, random: \.lowerBound)
    _ = machine.advance([], at: start)
    _ = machine.advance([.leased([push], next: nil)], at: start)
    #expect(
      machine.advance([.tried(1, .disconnected)], at: start).withoutWaiting
        == [.complete(push, .retried(at: start + .seconds(8)))])
  }

  @Test(arguments: [(1, 1), (100, 100), (1_000_000, 86_400)])
  func waitsAsLongAsItIsToldToForADayAtMost(told: Int, wait: Int) throws {
    let push = LeasedPush.test()
    var machine = sending(push)
    #expect(
      machine.advance([.tried(1, response(429, retryAfter: told))], at: start).withoutWaiting
        == [.complete(push, .retried(at: start + .seconds(wait)))])
  }

  @Test func aBrokenConnectionIsTriedAgain() throws {
    let push = LeasedPush.test()
    var machine = sending(push)
    #expect(
      machine.advance([.tried(1, .disconnected)], at: start).withoutWaiting
        == [.complete(push, .retried(at: start + .seconds(1)))])
  }

  @Test func dropsWhatWouldComeTooLate() throws {
    let late = LeasedPush.test(expires: start.seconds)
    var machine = machine()
    #expect(
      machine.advance([.leased([late], next: nil)], at: start)
        == [.report(.expired), .complete(late, .dropped(.expired))])
    let soon = LeasedPush.test(expires: start.seconds + 100)
    machine = sending(soon)
    #expect(
      machine.advance([.tried(1, response(503, retryAfter: 100))], at: start).withoutWaiting
        == [.report(.expired), .complete(soon, .dropped(.expired))])
  }

  @Test func aTokenThatHasExpiredIsRenewedOnce() throws {
    let push = LeasedPush.test()
    var machine = sending(push)
    let expired = response(403, "ExpiredProviderToken")
    #expect(
      machine.advance([.tried(1, expired)], at: start).withoutWaiting == [
        .refreshCredentials, .sendAgain(push),
      ])
    #expect(
      machine.advance([.tried(1, expired)], at: start).withoutWaiting
        == [
          .report(
            .misconfigured(status: 403, reason: "ExpiredProviderToken", pause: .seconds(1))),
          .complete(push, .retried(at: start + .seconds(1))),
        ])
  }

  @Test func aDeviceThatIsGoneIsUnboundIfItWasGoneAfterItWasBound() throws {
    let push = LeasedPush.test()
    var machine = sending(push)
    #expect(
      machine.advance(
        [.tried(1, response(410, "Unregistered", timestamp: 1_600_000_000))], at: start)
        == [
          .report(.unbound(reason: "Unregistered")),
          .complete(push, .unbound(boundBefore: Timestamp(seconds: 1_600_000_000))),
        ])
    machine = sending(push)
    #expect(
      machine.advance([.tried(1, response(410, "Unregistered"))], at: start).last
        == .complete(push, .dropped(.refused)))
  }

  @Test(arguments: ["BadDeviceToken", "DeviceTokenNotForTopic"])
  func aBadDeviceIsUnboundByAProvenPushServiceOnly(reason: String) throws {
    let push = LeasedPush.test()
    var machine = sending(push)
    #expect(
      machine.advance([.tried(1, response(400, reason))], at: start).last
        == .complete(push, .unbound(boundBefore: nil)))

    machine = sending(push, isProven: false)
    let actions = machine.advance([.tried(1, response(400, reason))], at: start).withoutWaiting
    #expect(actions.first == .report(.targetInDoubt(reason: reason, pause: .seconds(1))))
    #expect(actions.last == .complete(push, .retried(at: start + .seconds(61))))
    // All are paused, then one is tried at a time, until one is taken.
    #expect(machine.advance([.completed(1), .queued], at: start) == [])
    #expect(machine.wakeTime(at: start) == start + .seconds(1))
    var now = start + .seconds(1)
    #expect(machine.advance([], at: now) == [.lease(atMost: 1, .untriedAccountsNewestFirst)])
    let second = LeasedPush.test(2, device: 2)
    _ = machine.advance([.leased([second], next: nil)], at: now)
    let again = machine.advance([.tried(2, response(400, reason))], at: now).withoutWaiting
    #expect(again.first == .report(.targetInDoubt(reason: reason, pause: .seconds(2))))
    now = now + .seconds(2)
    #expect(
      machine.advance([.completed(2)], at: now) == [.lease(atMost: 1, .untriedAccountsOldestFirst)])
    let third = LeasedPush.test(3, device: 3)
    _ = machine.advance([.leased([third], next: nil)], at: now)
    _ = machine.advance([.tried(3, response(200))], at: now).withoutWaiting
    #expect(machine.advance([.completed(3)], at: now) == [.lease(atMost: 10)])
    _ = machine.advance([.leased([push], next: nil)], at: now)
    #expect(
      machine.advance([.tried(1, response(400, reason))], at: now).last
        == .complete(push, .unbound(boundBefore: nil)))
  }

  @Test func aPushServiceThatCantBeReachedPausesAll() throws {
    let pushes = (1...2).map { LeasedPush.test(Int64($0), device: $0) }
    var machine = machine()
    _ = machine.advance([.leased(pushes, next: nil)], at: start)
    let pause = start + .seconds(1)
    // Said once a pause.
    #expect(
      machine.advance([.tried(1, .unreachable("why")), .tried(2, .unreachable("why"))], at: start)
        == [
          .report(.unreachable("why", pause: .seconds(1))),
          .complete(pushes[0], .retried(at: pause)), .complete(pushes[1], .retried(at: pause)),
        ])
    #expect(machine.advance([.completed(1), .completed(2)], at: start) == [])
    // Then one tries.
    #expect(machine.advance([], at: pause) == [.lease(atMost: 1)])
    _ = machine.advance([.leased([pushes[0]], next: nil)], at: pause)
    _ = machine.advance([.tried(1, response(200))], at: pause).withoutWaiting
    #expect(machine.advance([.completed(1)], at: pause) == [.lease(atMost: 10)])
  }

  @Test(
    arguments: [
      (403, "InvalidProviderToken"), (403, nil), (400, "TopicDisallowed"), (400, "BadTopic"),
    ] as [(Int, String?)])
  func whatTheOperatorHasToMendPausesAll(status: Int, reason: String?) throws {
    let push = LeasedPush.test()
    var machine = sending(push)
    let pause = Duration.seconds(1)
    #expect(
      machine.advance([.tried(1, response(status, reason))], at: start).withoutWaiting
        == [
          .report(
            .misconfigured(status: status, reason: reason ?? "no reason", pause: pause)),
          .complete(push, .retried(at: start + pause)),
        ])
  }

  @Test(
    arguments: [
      (404, "BadPath"), (413, "PayloadTooLarge"),
      (405, nil), (200 + 1, nil), (302, nil),
    ] as [(Int, String?)])
  func anythingElseIsDropped(status: Int, reason: String?) throws {
    let push = LeasedPush.test()
    var machine = sending(push)
    #expect(
      machine.advance([.tried(1, response(status, reason))], at: start).withoutWaiting
        == [
          .report(.refused(status: status, reason: reason ?? "no reason")),
          .complete(push, .dropped(.refused)),
        ])
  }

  @Test func whatWasInterruptedIsGivenBack() throws {
    let push = LeasedPush.test(attempts: 9)
    var machine = sending(push)
    #expect(
      machine.advance([.tried(1, .cancelled)], at: start).withoutWaiting == [
        .complete(push, .retried(at: start))
      ])
    #expect(machine.advance([.tried(7, .cancelled)], at: start).withoutWaiting == [])
  }

  /// While nothing proves the push service, bad devices of one account make that account wait and no other.
  @Test func otherAccountsDontWaitForAnAccountsBadDevices() throws {
    var machine = machine(isProven: false)
    var now = start
    // Fifty accounts with bad devices, one after the other.
    for number in 1...50 {
      let push = LeasedPush.test(Int64(number), device: number, account: "bad \(number)")
      _ = machine.advance([.leased([push], next: nil)], at: now)
      let actions = machine.advance(
        [.tried(push.id, response(400, "BadDeviceToken"))], at: now)
      #expect(
        actions.first == .report(.targetInDoubt(reason: "BadDeviceToken", pause: .seconds(1))))
      now = now + .seconds(1)
      _ = machine.advance([.completed(push.id)], at: now)
    }
    #expect(start.duration(to: now) == .seconds(50))
    // One account's further ones wait longer and longer.
    var pauses: [Duration] = []
    for number in 51...54 {
      let push = LeasedPush.test(Int64(number), device: number, account: "bad 1")
      _ = machine.advance([.leased([push], next: nil)], at: now)
      _ = machine.advance([.tried(push.id, response(400, "BadDeviceToken"))], at: now)
      _ = machine.advance([.completed(push.id)], at: now)
      let next = machine.wakeTime(at: now)
      pauses.append(now.duration(to: next))
      now = next
      _ = machine.advance([], at: now)
    }
    #expect(pauses == [2, 4, 8, 16].map { .seconds($0) })
  }

  @Test func saysWhyPushesWait() throws {
    let push = LeasedPush.test()
    var machine = sending(push)
    #expect(
      machine.advance([.tried(1, response(503, "Busy"))], at: start).first
        == .report(.waiting(status: 503, reason: "Busy")))
    var other = sending(push)
    #expect(
      other.advance([.tried(1, .disconnected)], at: start).first
        == .report(.waiting(status: 0, reason: "the connection broke")))
    // The server itself has asked too often: no device tries before the pause is over.
    var overloaded = sending(push)
    let actions = overloaded.advance(
      [.tried(1, response(429, "TooManyProviderTokenUpdates"))], at: start)
    #expect(
      actions == [
        .report(
          .overloaded(
            status: 429, reason: "TooManyProviderTokenUpdates", pause: .seconds(1))),
        .complete(push, .retried(at: start + .seconds(1))),
      ])
  }
}
