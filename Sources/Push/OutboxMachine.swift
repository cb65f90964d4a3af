internal import Platform

/// The order in which due pushes are leased.
enum LeaseOrder: Sendable, Hashable {
  /// Those longest due first.
  case due
  /// While the push service is in doubt: those of accounts first of which no push was tried, and of these the newest.
  case untriedAccountsNewestFirst
  /// The same, but the one that is due longest.
  case untriedAccountsOldestFirst
}

/// Decides what to push when, and what a response means. It does nothing itself.
struct OutboxMachine: Sendable {
  /// An event.
  enum Event: Sendable {
    /// There may be something new in the outbox.
    case queued
    /// The store has leased pushes; the next push that it has not leased is due at a moment, if there is one.
    case leased([LeasedPush], next: Timestamp?)
    /// Services have leased pushes as they queued them.
    case received([LeasedPush])
    /// The store can't be read now.
    case storeFailed
    /// A push was tried.
    case tried(LeasedPush.ID, PushOutcome)
    /// The store has recorded the completion of a push, or has failed to: then its lease runs out.
    case completed(LeasedPush.ID)
  }

  /// An action that the machine requests.
  enum Action: Sendable, Hashable {
    /// Lease pushes that are due.
    case lease(atMost: Int, LeaseOrder = .due)
    /// Try a push.
    case send(LeasedPush)
    /// Try a push, once more or late, for which its lease has to be made longer first.
    case sendAgain(LeasedPush)
    /// Replace the provider's credentials before the actions that follow.
    case refreshCredentials
    /// Record the end of a push's lease.
    case complete(LeasedPush, PushCompletion)
    /// Report to the operator.
    case report(Report)
  }

  /// An event that an operator should know of, without the name of a device or a message.
  enum Report: Sendable, Hashable {
    /// The push service rejects device tokens and has never accepted a push, so it may be the wrong one.
    case targetInDoubt(reason: String, pause: Duration)
    /// The push service can't be reached.
    case unreachable(String, pause: Duration)
    /// A push was refused and is dropped.
    case refused(status: Int, reason: String)
    /// A push was not delivered in time.
    case expired
    /// A push service rejects this server's key, and the push is dropped.
    case unauthorized(status: Int, reason: String, origin: String)
    /// Pushes wait, as the push service can't take them now; the status is 0 where the connection broke.
    case waiting(status: Int, reason: String)
    /// The push service has enough of this server's requests.
    case overloaded(status: Int, reason: String, pause: Duration)
    /// The push service refuses this server's credentials or settings.
    case misconfigured(status: Int, reason: String, pause: Duration)
    /// Firebase has no key to push to an app's devices, and the push is dropped.
    case appLacksKey
    /// A device is unbound.
    case unbound(reason: String)
  }

  /// The number of pushes at once, and the times to wait.
  struct Limits: Sendable {
    /// The most pushes under way.
    var inFlight = 100
    /// The number of leased pushes from which on none is leased as it is queued.
    var leasedAsQueued = Int.max
    /// The first wait before a push is tried again, doubled each time.
    var firstRetry = Duration.seconds(1)
    /// The longest wait before a push is tried again.
    var longestRetry = Duration.seconds(600)
    /// The first pause of all pushes, doubled each time.
    var firstPause = Duration.seconds(1)
    /// The longest pause of all pushes.
    var longestPause = Duration.seconds(60)
    /// The interval at which the outbox is polled without an event, as other processes fill it as well.
    var poll = Duration.seconds(5)

    /// The limits of push services of a kind.
    init(inFlight: Int = 100, of kind: PushKind = .apns) {
      self.inFlight = inFlight
      // Google wants ten seconds at least.
      if kind == .fcm { firstRetry = .seconds(20) }
    }
  }

  /// The most accounts that are remembered while the push service is in doubt.
  private static let rememberedAccounts = 10_000
  /// The most pushes that are under way or whose end is being recorded, as a multiple of those under way: the store may be slower
  /// than the push service.
  private static let recordedBehind = 4
  /// The time to wait after FCM's quota is used up, if it names none.
  private static let quotaWait = Duration.seconds(60)

  private enum Stage {
    case sending
    case sendingWithNewCredentials
  }

  private let kind: PushKind
  private let limits: Limits
  private let random: @Sendable (ClosedRange<Double>) -> Double
  /// The pushes under way.
  private var inFlight: [LeasedPush.ID: (push: LeasedPush, stage: Stage)] = [:]
  /// The pushes whose completion is being recorded.
  private var completing: [LeasedPush.ID: LeasedPush] = [:]
  /// True if the push service has ever accepted a push.
  private var isProven: Bool
  /// The accounts whose devices were rejected before the push service was proven.
  private var doubtfulAccounts: Set<PushOwner> = []
  /// The number of leases made in doubt.
  private var doubtfulLeases = 0
  private var isLeasing = false
  /// False once nothing is known to be due that isn't under way.
  private var hasBacklog = true
  private var hasNews = true
  private var nextDue: Timestamp?
  private var nextPoll = Timestamp(milliseconds: 0)
  private var pauses = 0
  private var pausedUntil = Timestamp(milliseconds: .min)

  /// Makes a machine that begins by looking into the outbox.
  ///
  /// - Parameters:
  ///   - limits: the number of pushes at once, and the times to wait.
  ///   - isProven: whether the push service has accepted a push before.
  init(
    _ limits: Limits, of kind: PushKind = .apns, isProven: Bool,
    random: @escaping @Sendable (ClosedRange<Double>) -> Double
  ) {
    self.kind = kind
    self.limits = limits
    self.isProven = isProven
    self.random = random
  }

  /// The pushes that are leased and not settled.
  var unfinished: [LeasedPush] { inFlight.values.map(\.push) + completing.values }

  /// Returns the moment to call ``advance(_:at:)`` at if nothing happens before.
  func wakeTime(at now: Timestamp) -> Timestamp {
    guard !isLeasing, room > 0 else { return now + limits.poll }
    let due = hasNews ? now : min(nextDue ?? nextPoll, nextPoll)
    return isPaused(at: now) ? max(due, pausedUntil) : due
  }

  /// Handles events and decides what to do.
  ///
  /// - Parameter events: the events in order; none if only time has passed.
  /// - Returns: the actions, in order.
  mutating func advance(_ events: [Event], at now: Timestamp) -> [Action] {
    var actions: [Action] = []
    for event in events {
      switch event {
      case .queued: hasNews = true
      case .leased(let pushes, let next):
        isLeasing = false
        nextDue = next
        hasBacklog = next.map { $0 <= now } ?? false
        for push in pushes { begin(push, now, &actions) }
      case .received(let pushes):
        for push in pushes { begin(push, now, &actions) }
      case .storeFailed:
        isLeasing = false
        hasBacklog = true
        hasNews = true
        // No longer: the store's failure says nothing of the push service.
        if !isPaused(at: now) { pausedUntil = now + limits.firstPause }
      case .tried(let id, let outcome):
        if let (push, stage) = inFlight[id] { evaluate(push, stage, outcome, now, &actions) }
      case .completed(let id):
        inFlight[id] = nil
        completing[id] = nil
        // The next one to the same device may be due.
        hasNews = true
      }
    }
    leaseMore(now, &actions)
    return actions
  }

  /// The number of pushes that are under way or whose completion is being recorded.
  private var leased: Int { inFlight.count + completing.count }

  /// The number of further pushes that may be under way.
  ///
  /// After a pause it is one after the other, until one is accepted.
  private var room: Int {
    guard pauses == 0 else { return 1 - leased }
    // The push service has done with those that are only recorded.
    return min(limits.inFlight - inFlight.count, limits.inFlight * Self.recordedBehind - leased)
  }

  /// Returns how many pushes may be leased as they are queued: none while others wait that are due longer, or the push service is in
  /// doubt. While some that were leased so are on their way here, more may be under way than otherwise.
  func freePlaces(at now: Timestamp) -> Int {
    guard !hasBacklog, pauses == 0, !isPaused(at: now), doubtfulAccounts.isEmpty else { return 0 }
    return max(0, min(room, limits.leasedAsQueued - leased))
  }

  /// Returns whether all pushes are paused, which never lasts longer than a pause if the clock was set back.
  private func isPaused(at now: Timestamp) -> Bool {
    now < pausedUntil && pausedUntil <= now + limits.longestPause
  }

  private mutating func leaseMore(_ now: Timestamp, _ actions: inout [Action]) {
    let isDue = nextDue.map { $0 <= now } ?? false
    // The clock may have been set back.
    let isPollDue = nextPoll <= now || nextPoll > now + limits.poll
    guard hasNews || isDue || isPollDue, !isLeasing, room > 0, !isPaused(at: now) else { return }
    isLeasing = true
    hasNews = false
    nextPoll = now + limits.poll
    actions.append(.lease(atMost: room, leaseOrder()))
  }

  /// Returns the order of the next lease: in doubt, the newest and the oldest device by turns, so that neither can be kept
  /// waiting by others that are newer or older.
  private mutating func leaseOrder() -> LeaseOrder {
    guard !isProven, !doubtfulAccounts.isEmpty else { return .due }
    doubtfulLeases += 1
    return doubtfulLeases.isMultiple(of: 2)
      ? .untriedAccountsOldestFirst : .untriedAccountsNewestFirst
  }

  private mutating func begin(_ push: LeasedPush, _ now: Timestamp, _ actions: inout [Action]) {
    // A lease that ran out while its attempt lasted may have been given to the same outbox.
    guard inFlight[push.id] == nil, completing[push.id] == nil else { return }
    guard push.expires > now else {
      actions.append(.report(.expired))
      return complete(push, .dropped(.expired), &actions)
    }
    inFlight[push.id] = (push, .sending)
    // What came late from the store has to last for a whole attempt.
    let isLong = push.leaseEnd >= now + PushStore.attempt
    actions.append(isLong ? .send(push) : .sendAgain(push))
  }

  private mutating func complete(
    _ push: LeasedPush, _ completion: PushCompletion, _ actions: inout [Action]
  ) {
    inFlight[push.id] = nil
    completing[push.id] = push
    actions.append(.complete(push, completion))
  }

  private mutating func evaluate(
    _ push: LeasedPush, _ stage: Stage, _ outcome: PushOutcome, _ now: Timestamp,
    _ actions: inout [Action]
  ) {
    switch outcome {
    case .responded(let response):
      let meaning =
        switch kind {
        case .apns, .apnsSandbox: Self.meaning(ofAPNs: response)
        case .fcm: Self.meaning(ofFCM: response, at: now)
        case .web: Self.meaning(ofBrowsers: response)
        }
      apply(meaning, of: response, to: push, stage, now, &actions)
    case .logged: complete(push, .logged, &actions)
    case .forbidden(let why):
      actions.append(.report(.refused(status: 0, reason: why)))
      complete(push, .dropped(.refused), &actions)
    case .disconnected:
      actions.append(.report(.waiting(status: 0, reason: "the connection broke")))
      retry(push, at: now + backOff(push), &actions)
    case .postponed: retry(push, at: now + backOff(push), &actions)
    case .cancelled: retry(push, at: now, &actions)
    case .unreachable(let why):
      pause(at: now, &actions) { .unreachable(why, pause: $0) }
      retry(push, at: pausedUntil, &actions)
    }
  }

  /// What a response of a push service means. For how long to wait, FCM has a time of its own if it names none.
  private enum Meaning {
    case accepted, oldCredentials, badSetting, badDevice, appLacksKey, unauthorized, otherKey,
      tooLong, overloaded, refused
    case gone(boundBefore: Timestamp?)
    case later(after: Duration? = nil)
  }

  private static func meaning(ofAPNs response: PushResponse) -> Meaning {
    switch (response.status, response.reason) {
    case (200, _): .accepted
    case (403, "ExpiredProviderToken"): .oldCredentials
    case (410, _): response.timestamp.map { .gone(boundBefore: $0) } ?? .refused
    case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"): .badDevice
    case (403, _), (400, "TopicDisallowed"), (400, "BadTopic"): .badSetting
    // Of this server, not of a device: each device that tried for itself would make it worse.
    case (429, "TooManyProviderTokenUpdates"): .overloaded
    case (429, _), (500...599, _): .later()
    default: .refused
    }
  }

  /// Returns what a response of FCM's means, by its own code if it has one.
  private static func meaning(ofFCM response: PushResponse, at now: Timestamp) -> Meaning {
    switch (response.reason, response.status) {
    case (_, 200): .accepted
    case ("UNREGISTERED", _): .gone(boundBefore: response.timestamp ?? now)
    case ("SENDER_ID_MISMATCH", _): .badDevice
    case ("INVALID_ARGUMENT", _) where response.isOfToken: .badDevice
    case ("THIRD_PARTY_AUTH_ERROR", _): .appLacksKey
    case (nil, 401): .oldCredentials
    case (nil, 403), (nil, 404): .badSetting
    case ("QUOTA_EXCEEDED", _), (nil, 429): .later(after: quotaWait)
    case ("UNAVAILABLE", _), ("INTERNAL", _), (_, 500...599): .later()
    default: .refused
    }
  }

  /// Returns what a response of a browser's push service (RFC 8030) means, which speaks for its own devices only.
  private static func meaning(ofBrowsers response: PushResponse) -> Meaning {
    switch (response.status, response.isOfOtherKey) {
    case (200, _), (201, _), (202, _), (204, _): .accepted
    case (404, _), (410, _): .gone(boundBefore: nil)
    case (413, _): .tooLong
    case (400, true), (401, true), (403, true): .otherKey
    case (401, _), (403, _): .unauthorized
    case (429, _), (500...599, _): .later()
    default: .refused
    }
  }

  private mutating func apply(
    _ meaning: Meaning, of response: PushResponse, to push: LeasedPush, _ stage: Stage,
    _ now: Timestamp, _ actions: inout [Action]
  ) {
    let reason = response.reason ?? response.detail ?? "no reason"
    switch meaning {
    case .accepted:
      isProven = true
      doubtfulAccounts = []
      pauses = 0
      complete(push, .delivered, &actions)
    case .oldCredentials where stage == .sending:
      inFlight[push.id] = (push, .sendingWithNewCredentials)
      actions += [.refreshCredentials, .sendAgain(push)]
    case .oldCredentials, .badSetting:
      pause(at: now, &actions) {
        .misconfigured(status: response.status, reason: reason, pause: $0)
      }
      retry(push, at: pausedUntil, &actions)
    case .gone(let moment):
      let reason = response.reason ?? "status \(response.status)"
      actions.append(.report(.unbound(reason: reason)))
      complete(push, .unbound(boundBefore: moment), &actions)
    case .badDevice where isProven:
      actions.append(.report(.unbound(reason: reason)))
      complete(push, .unbound(boundBefore: nil), &actions)
    case .badDevice:
      // Another account's push may prove the push service, so it doesn't wait long: only an account's further ones do.
      let isFirst =
        doubtfulAccounts.count < Self.rememberedAccounts
        && doubtfulAccounts.insert(PushOwner(push)).inserted
      pause(at: now, isShort: isFirst, &actions) { .targetInDoubt(reason: reason, pause: $0) }
      // After all others that are due.
      retry(push, at: pausedUntil + limits.longestPause, &actions)
    case .otherKey:
      actions.append(.report(.unbound(reason: "its subscription is for another key: \(reason)")))
      complete(push, .unbound(boundBefore: nil), &actions)
    case .appLacksKey:
      actions.append(.report(.appLacksKey))
      complete(push, .dropped(.refused), &actions)
    case .unauthorized:
      let origin = WebPushSubscription(push.address)?.endpoint.origin ?? ""
      actions.append(
        .report(.unauthorized(status: response.status, reason: reason, origin: origin)))
      complete(push, .dropped(.refused), &actions)
    case .tooLong where !push.isShort:
      var short = push
      short.isShort = true
      inFlight[push.id] = (short, .sending)
      actions.append(.sendAgain(short))
    case .tooLong, .refused:
      actions.append(.report(.refused(status: response.status, reason: reason)))
      complete(push, .dropped(.refused), &actions)
    case .overloaded:
      pause(at: now, &actions) {
        .overloaded(status: response.status, reason: reason, pause: $0)
      }
      retry(push, at: pausedUntil, &actions)
    case .later(let wait):
      actions.append(.report(.waiting(status: response.status, reason: reason)))
      retry(push, at: now + pause(after: response, default: wait, of: push), &actions)
    }
  }

  private mutating func retry(_ push: LeasedPush, at time: Timestamp, _ actions: inout [Action]) {
    guard time < push.expires else {
      actions.append(.report(.expired))
      return complete(push, .dropped(.expired), &actions)
    }
    complete(push, .retried(at: time), &actions)
  }

  /// Returns the time to wait before a push is tried again that the push service has put off.
  private func pause(
    after response: PushResponse, default wait: Duration?, of push: LeasedPush
  ) -> Duration {
    let requested = response.retryAfter.map { min($0, .seconds(86_400)) }
    guard kind == .fcm else { return max(backOff(push), requested ?? .zero) }
    // FCM's own time is exact.
    if let requested { return max(requested, .seconds(1)) }
    return wait ?? backOff(push)
  }

  /// The time to wait before a push is tried again.
  ///
  /// It doubles each time and is spread between half and all of it, so that pushes that failed together aren't tried
  /// together.
  private func backOff(_ push: LeasedPush) -> Duration {
    Self.doubled(limits.firstRetry, push.attempts - 1, limits.longestRetry) * random(0.5...1)
  }

  /// Pauses all pushes, and reports it, unless there is a pause already.
  ///
  /// - Parameter isShort: whether it is as short as the first one, and later ones don't get longer by it.
  private mutating func pause(
    at now: Timestamp, isShort: Bool = false, _ actions: inout [Action],
    report: (Duration) -> Report
  ) {
    guard !isPaused(at: now) else { return }
    let pause =
      isShort ? limits.firstPause : Self.doubled(limits.firstPause, pauses, limits.longestPause)
    pauses = isShort ? max(pauses, 1) : pauses + 1
    pausedUntil = now + pause
    actions.append(.report(report(pause)))
  }

  private static func doubled(_ first: Duration, _ times: Int, _ longest: Duration) -> Duration {
    // A higher power would overflow, and is beyond any limit.
    min(first * (1 << min(max(times, 0), 30)), longest)
  }
}
