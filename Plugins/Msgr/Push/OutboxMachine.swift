internal import Time

/// Decides what to push when, and what a response means. It does nothing itself.
struct OutboxMachine: Sendable {
  /// An event that the machine is told.
  enum Event: Sendable {
    /// There may be something new in the outbox.
    case news
    /// The store has leased pushes; the next push that it has not leased is due at a moment, if there is one.
    case leased([Push], next: Timestamp?)
    /// The store can't be asked now.
    case storeFailed
    /// A push was tried.
    case tried(Push.ID, PushOutcome)
    /// The store has noted the settlement of a push, or has failed to: then its lease runs out.
    case settled(Push.ID)
  }

  /// An action that the machine asks for.
  enum Action: Sendable, Hashable {
    /// Lease pushes that are due.
    case lease(atMost: Int)
    /// Try a push.
    case send(Push)
    /// Try a push once more, for which its lease has to be made longer first.
    case sendAgain(Push)
    /// Replace the provider's credentials before the actions that follow.
    case refreshCredentials
    /// Note the end of a push's lease.
    case settle(Push, PushSettlement)
    /// Tell the operator.
    case report(Report)
  }

  /// An event that an operator should know of, without the name of a device or a message.
  enum Report: Sendable, Hashable {
    /// The push service calls devices bad and has never taken a push, so it may be the wrong one.
    case targetInDoubt(reason: String, pause: Duration)
    /// The push service can't be reached.
    case unreachable(String, pause: Duration)
    /// A push was refused and is dropped.
    case refused(status: Int, reason: String)
    /// A push was not delivered in time.
    case expired
    /// A push service doesn't take this server's key, and the push is dropped.
    case unauthorized(status: Int)
    /// A device is unbound.
    case unbound(reason: String)
  }

  /// The kinds of push services, whose responses mean different things.
  enum Kind: Sendable {
    /// Apple's, or one that stands for it: one service for all devices.
    case phones
    /// The services that users' browsers name: any number of them.
    case browsers
  }

  /// The number of pushes at once, and the times to wait.
  struct Limits: Sendable {
    /// The most pushes under way.
    var inFlight = 100
    /// The first wait before a push is tried again, doubled each time.
    var firstRetry = Duration.seconds(1)
    /// The longest wait before a push is tried again.
    var longestRetry = Duration.seconds(600)
    /// The first pause of all pushes, doubled each time.
    var firstPause = Duration.seconds(1)
    /// The longest pause of all pushes.
    var longestPause = Duration.seconds(60)
    /// The interval at which the outbox is looked at without news, as other processes fill it as well.
    var poll = Duration.seconds(5)
  }

  private enum Stage {
    case sending
    case sendingWithNewCredentials
    case settling
  }

  private let kind: Kind
  private let limits: Limits
  private let random: @Sendable (ClosedRange<Double>) -> Double
  private var inFlight: [Push.ID: (push: Push, stage: Stage)] = [:]
  /// True if the push service has ever taken a push.
  private var isProven: Bool
  private var isLeasing = false
  private var hasNews = true
  private var nextDue: Timestamp?
  private var nextPoll = Timestamp(milliseconds: 0)
  private var pauses = 0
  private var pausedUntil = Timestamp(milliseconds: .min)

  /// Makes a machine that begins by looking into the outbox.
  ///
  /// - Parameters:
  ///   - limits: the number of pushes at once, and the times to wait.
  ///   - kind: the kind of push service.
  ///   - isProven: whether the push service has taken a push before.
  ///   - random: gives a number in a range.
  init(
    _ limits: Limits, of kind: Kind = .phones, isProven: Bool,
    random: @escaping @Sendable (ClosedRange<Double>) -> Double
  ) {
    self.kind = kind
    self.limits = limits
    self.isProven = isProven
    self.random = random
  }

  /// The pushes that are leased and not settled.
  var unsettled: [Push] { inFlight.values.map(\.push) }

  /// Returns the moment to call ``advance(_:at:)`` at if nothing happens before.
  func wakeTime(at now: Timestamp) -> Timestamp {
    guard !isLeasing, room > 0 else { return now + limits.poll }
    let due = hasNews ? now : min(nextDue ?? nextPoll, nextPoll)
    return isPaused(at: now) ? max(due, pausedUntil) : due
  }

  /// Takes events and decides what to do.
  ///
  /// - Parameters:
  ///   - events: the events in order; none if only time has passed.
  ///   - now: the time.
  /// - Returns: the actions, in order.
  mutating func advance(_ events: [Event], at now: Timestamp) -> [Action] {
    var actions: [Action] = []
    for event in events {
      switch event {
      case .news: hasNews = true
      case .leased(let pushes, let next):
        isLeasing = false
        nextDue = next
        for push in pushes { begin(push, now, &actions) }
      case .storeFailed:
        isLeasing = false
        hasNews = true
        // No longer: the store's failure says nothing of the push service.
        if !isPaused(at: now) { pausedUntil = now + limits.firstPause }
      case .tried(let id, let outcome):
        if let (push, stage) = inFlight[id] { judge(push, stage, outcome, now, &actions) }
      case .settled(let id):
        inFlight[id] = nil
        // The next one to the same device may be due.
        hasNews = true
      }
    }
    leaseMore(now, &actions)
    return actions
  }

  /// The number of further pushes that may be under way.
  ///
  /// A push service in doubt is tried with one device after the other.
  private var room: Int {
    (isProven || pauses == 0 ? limits.inFlight : 1) - inFlight.count
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
    actions.append(.lease(atMost: room))
  }

  private mutating func begin(_ push: Push, _ now: Timestamp, _ actions: inout [Action]) {
    guard push.expires > now else {
      actions.append(.report(.expired))
      return settle(push, .dropped, &actions)
    }
    inFlight[push.id] = (push, .sending)
    actions.append(.send(push))
  }

  private mutating func settle(
    _ push: Push, _ settlement: PushSettlement, _ actions: inout [Action]
  ) {
    inFlight[push.id] = (push, .settling)
    actions.append(.settle(push, settlement))
  }

  private mutating func judge(
    _ push: Push, _ stage: Stage, _ outcome: PushOutcome, _ now: Timestamp,
    _ actions: inout [Action]
  ) {
    switch outcome {
    case .responded(let response):
      switch kind {
      case .phones: judge(push, stage, response, now, &actions)
      case .browsers: judgeBrowser(push, response, now, &actions)
      }
    case .forbidden(let why):
      actions.append(.report(.refused(status: 0, reason: why)))
      settle(push, .dropped, &actions)
    case .disconnected, .postponed: retry(push, at: now + backOff(push), &actions)
    case .cancelled: retry(push, at: now, &actions)
    case .unreachable(let why):
      if let pause = pause(at: now) { actions.append(.report(.unreachable(why, pause: pause))) }
      retry(push, at: pausedUntil, &actions)
    }
  }

  private mutating func judge(
    _ push: Push, _ stage: Stage, _ response: PushResponse, _ now: Timestamp,
    _ actions: inout [Action]
  ) {
    let reason = response.reason ?? "no reason"
    switch (response.status, reason) {
    case (200, _):
      isProven = true
      pauses = 0
      settle(push, .delivered, &actions)
    case (403, "ExpiredProviderToken") where stage == .sending:
      inFlight[push.id] = (push, .sendingWithNewCredentials)
      actions += [.refreshCredentials, .sendAgain(push)]
    case (410, _) where response.timestamp != nil:
      actions.append(.report(.unbound(reason: reason)))
      settle(push, .unbound(boundBefore: response.timestamp), &actions)
    case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"):
      guard !isProven else {
        actions.append(.report(.unbound(reason: reason)))
        return settle(push, .unbound(boundBefore: nil), &actions)
      }
      if let pause = pause(at: now) {
        actions.append(.report(.targetInDoubt(reason: reason, pause: pause)))
      }
      // After all others that are due, as one of them may prove the push service.
      retry(push, at: pausedUntil + limits.longestPause, &actions)
    case (429, _), (500...599, _): retryLater(push, response, now, &actions)
    default:
      actions.append(.report(.refused(status: response.status, reason: reason)))
      settle(push, .dropped, &actions)
    }
  }

  /// Judges a response of a browser's push service (RFC 8030), which speaks for its own devices only.
  private mutating func judgeBrowser(
    _ push: Push, _ response: PushResponse, _ now: Timestamp, _ actions: inout [Action]
  ) {
    switch response.status {
    case 200, 201, 202, 204: settle(push, .delivered, &actions)
    case 404, 410:
      actions.append(.report(.unbound(reason: "status \(response.status)")))
      settle(push, .unsubscribed, &actions)
    case 413 where !push.isShort:
      var short = push
      short.isShort = true
      inFlight[push.id] = (short, .sending)
      actions.append(.sendAgain(short))
    case 401, 403:
      actions.append(.report(.unauthorized(status: response.status)))
      settle(push, .dropped, &actions)
    case 429, 500...599: retryLater(push, response, now, &actions)
    default:
      actions.append(.report(.refused(status: response.status, reason: "no reason")))
      settle(push, .dropped, &actions)
    }
  }

  /// Tries again when the push service allows it.
  private mutating func retryLater(
    _ push: Push, _ response: PushResponse, _ now: Timestamp, _ actions: inout [Action]
  ) {
    let wait = max(backOff(push), min(response.retryAfter ?? .zero, .seconds(86_400)))
    retry(push, at: now + wait, &actions)
  }

  private mutating func retry(_ push: Push, at time: Timestamp, _ actions: inout [Action]) {
    guard time < push.expires else {
      actions.append(.report(.expired))
      return settle(push, .dropped, &actions)
    }
    settle(push, .retried(at: time), &actions)
  }

  /// The time to wait before a push is tried again.
  ///
  /// It doubles each time and is spread between half and all of it, so that pushes that failed together aren't tried
  /// together.
  private func backOff(_ push: Push) -> Duration {
    Self.doubled(limits.firstRetry, push.attempts - 1, limits.longestRetry) * random(0.5...1)
  }

  /// Pauses all pushes.
  ///
  /// - Returns: the length of the pause, or nil if there is a pause already.
  @discardableResult
  private mutating func pause(at now: Timestamp) -> Duration? {
    guard !isPaused(at: now) else { return nil }
    let pause = Self.doubled(limits.firstPause, pauses, limits.longestPause)
    pauses += 1
    pausedUntil = now + pause
    return pause
  }

  private static func doubled(_ first: Duration, _ times: Int, _ longest: Duration) -> Duration {
    // A higher power would overflow, and is beyond any limit.
    min(first * (1 << min(max(times, 0), 30)), longest)
  }
}
