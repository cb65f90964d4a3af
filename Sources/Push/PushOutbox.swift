internal import Budgets
internal import Cryptography
internal import Observability
internal import Synchronization
internal import Platform

/// Carries the pushes of a kind to their push service, as ``OutboxMachine`` decides.
final class PushOutbox: Sendable {
  /// The lines of the log on each kind of report in a minute, as a stranger's push service may cause as many as it likes.
  private static let linesPerMinute = 20

  /// A service whose pushes it carries.
  struct Service: Sendable {
    let source: any PushSource
    /// The log in which its pushes are only recorded, or nil if they go to the push service.
    let log: LogProvider?
  }

  /// The kind of its addresses.
  let kind: PushKind
  private let store: PushStore
  /// The push service, or nil if all pushes go to the log.
  private let provider: (any PushProvider)?
  private let limits: OutboxMachine.Limits
  private let log: Log
  private let metrics: PushMetrics
  /// The places for pushes that are leased as they are queued, under the same name as those that this outbox leases, which is
  /// unlike that of any other process or earlier run.
  private let leases: DirectLeases
  private let services: [String: Service]
  private let lines: AttemptTable
  /// The reasons for which pushes wait that were reported lately.
  private let waits: AttemptTable
  /// The failures of the store, one after the other.
  private let failures = Lock(FailureRun())
  private let events = Mailbox<OutboxMachine.Event>()
  /// True if something was committed since pushes were last leased.
  private let hasNews = Atomic<Bool>(false)

  /// Makes an outbox that pushes as soon as ``run()`` is called.
  ///
  /// - Parameters:
  ///   - services: the services whose pushes it carries, by their names.
  ///   - limits: the number of pushes at once, and the times to wait.
  ///   - leases: the places for pushes that services lease.
  init(
    _ kind: PushKind, store: PushStore, provider: (any PushProvider)?,
    services: [String: Service], limits: OutboxMachine.Limits,
    leases: DirectLeases = DirectLeases(), log: Log, metrics: PushMetrics
  ) {
    self.kind = kind
    self.store = store
    self.provider = provider
    self.services = services
    self.limits = limits
    self.leases = leases
    self.log = log
    self.metrics = metrics
    lines = AttemptTable(span: .seconds(60), size: 64, clock: store.clock)
    waits = AttemptTable(span: .seconds(600), size: 64, clock: store.clock)
  }

  /// The name that this outbox leases pushes under.
  private var owner: [UInt8] { leases.owner }

  /// The name of the push service, for its proof.
  private var target: String { provider?.target ?? "log" }

  /// Notifies the outbox that a push was queued and committed.
  func wake() {
    // Once until pushes are leased: while pushes are paused, each message would wake the task for nothing.
    guard !hasNews.exchange(true, ordering: .acquiringAndReleasing) else { return }
    events.put(.queued)
  }

  /// Sends pushes that were leased for this outbox as they were queued, and committed.
  func send(_ pushes: [LeasedPush]) {
    if !pushes.isEmpty { events.put(.received(pushes)) }
  }

  /// Pushes until the task is cancelled.
  func run() async {
    guard let isProven = await isProven() else { return }
    var machine = OutboxMachine(limits, of: kind, isProven: isProven) { .random(in: $0) }
    await withDiscardingTaskGroup { group in
      var arrived: [OutboxMachine.Event] = []
      while !Task.isCancelled {
        for action in machine.advance(arrived, at: store.clock()) { perform(action, in: &group) }
        let now = store.clock()
        leases.offer(machine.freePlaces(at: now))
        arrived = await events.next(within: now.duration(to: machine.wakeTime(at: now)))
      }
      leases.offer(0)
      // The attempts under way end with the group.
      group.cancelAll()
      for event in arrived { events.put(event) }
    }
    await finish(&machine)
  }

  /// Returns whether the push service has ever accepted a push, as soon as the store can say it; nil if the task is
  /// cancelled before.
  private func isProven() async -> Bool? {
    while !Task.isCancelled {
      guard provider != nil else { return true }
      do { return try await store.hasProven(target) } catch {
        if failures.withLock({ $0.failed() }) {
          log.warning("the outbox could not be read; retrying", ["cause": "\(error)"])
        }
        try? await Task.sleep(for: .seconds(1))
      }
    }
    return nil
  }

  /// Completes the last pushes, and returns the unfinished ones to the outbox.
  private func finish(_ machine: inout OutboxMachine) async {
    let now = store.clock()
    for action in machine.advance(events.drain(), at: now) {
      if case .complete(let push, let completion) = action { await complete(push, completion) }
    }
    for push in machine.unfinished { await complete(push, .retried(at: now)) }
  }

  private func perform(_ action: OutboxMachine.Action, in group: inout DiscardingTaskGroup) {
    switch action {
    case .lease(let count, let order):
      // Before the lease, which sees all that was committed earlier.
      _ = hasNews.exchange(false, ordering: .acquiringAndReleasing)
      group.addTask { [self] in events.put(await lease(atMost: count, order)) }
    case .send(let push):
      if let outcome = record(push) { return events.put(.tried(push.id, outcome)) }
      group.addTask { [self] in events.put(.tried(push.id, await send(push))) }
    case .sendAgain(let push):
      group.addTask { [self] in
        // Without a lease the push is another outbox's by now.
        guard (try? await store.renewLease(of: push, owner: owner)) == true else {
          return events.put(.completed(push.id))
        }
        if let outcome = record(push) { return events.put(.tried(push.id, outcome)) }
        events.put(.tried(push.id, await send(push)))
      }
    case .refreshCredentials: provider?.refreshCredentials()
    case .complete(let push, let completion):
      group.addTask { [self] in
        await complete(push, completion)
        events.put(.completed(push.id))
      }
    case .report(let report): self.report(report)
    }
  }

  private func lease(atMost count: Int, _ order: LeaseOrder) async -> OutboxMachine.Event {
    do {
      // Before the lease, which a failure must not lose.
      if metrics.wantsState { metrics.record(try await store.states()) }
      let (pushes, next) = try await store.lease(
        atMost: count, order, owner: owner, of: kind, for: services.keys.sorted())
      failures.withLock { $0.succeeded() }
      return .leased(pushes, next: next)
    } catch {
      if failures.withLock({ $0.failed() }) {
        log.error("the outbox could not be read; retrying", ["cause": "\(error)"])
      }
      return .storeFailed
    }
  }

  /// Records a push in the log, which needs no task of its own; nil if it goes to the push service.
  private func record(_ push: LeasedPush) -> PushOutcome? {
    guard let service = services[push.service], let log = service.log else { return nil }
    let outcome = log.record(push, of: service.source)
    metrics.count(outcome, of: kind, after: .zero)
    return outcome
  }

  private func send(_ push: LeasedPush) async -> PushOutcome {
    guard let payload = services[push.service]?.source.payload(of: push) else { return .unreadable }
    let start = ContinuousClock.now
    let outcome = await provider?.push(push, payload) ?? .cancelled
    metrics.count(outcome, of: kind, after: ContinuousClock.now - start)
    return outcome
  }

  private func complete(_ push: LeasedPush, _ completion: PushCompletion) async {
    guard let source = services[push.service]?.source else { return }
    metrics.count(completion, of: push.service)
    do {
      try await store.complete(push, owner: owner, completion, target: target, source)
    } catch {
      // The lease runs out, and the message is pushed again under the same identifier.
      log.error("the outcome of a push could not be recorded", ["cause": "\(error)"])
    }
  }

  private func report(_ report: OutboxMachine.Report) {
    var fields: Log.Fields = [:]
    var level = Log.Level.error
    var most = Self.linesPerMinute
    let words: String
    switch report {
    case .targetInDoubt(let reason, let pause):
      words =
        "every device token was rejected: check url, topic and project"
      fields = ["target": target, "reason": reason, "pause": pause]
    case .unreachable(let why, let pause):
      words = "the push service can't be reached"
      fields = ["target": target, "cause": why, "pause": pause]
    case .misconfigured(let status, let reason, let pause):
      words =
        reason == "ExpiredProviderToken"
        ? "the push service calls a new token expired: check this machine's clock"
        : "the push service refuses this server: check credentials, topic and project"
      fields = ["target": target, "status": status, "reason": reason, "pause": pause]
    case .refused(let status, let reason):
      words = "a push was refused and is dropped"
      fields = ["status": status, "reason": reason]
    case .unauthorized(let status, let reason, let origin):
      words = "a push service rejects this server's key; the push is dropped"
      fields = ["status": status, "reason": reason, "origin": origin]
      most = 1
    case .waiting(let status, let reason):
      return reportWaiting(status, reason)
    case .overloaded(let status, let reason, let pause):
      words = "pushes wait: the push service has enough of this server's requests"
      fields = ["target": target, "status": status, "reason": reason, "pause": pause]
    case .appLacksKey:
      words = "Firebase lacks the key for an app's pushes: a push is dropped"
      fields = ["status": 401]
      most = 1
    case .expired:
      words = "a push was not delivered in time and is dropped"
      level = .warning
    case .unbound(let reason):
      words = "a device is gone and is unbound"
      level = .info
      fields = ["reason": reason]
    }
    if lines.count(words, upTo: most) == nil { log.write(level, words, fields) }
  }

  /// Says why pushes wait, for each reason at first and then every ten minutes. Strangers' push services have one line for all.
  private func reportWaiting(_ status: Int, _ reason: String) {
    let key = kind == .web ? "" : "\(status) \(reason)"
    guard waits.count(key, upTo: 1) == nil else { return }
    log.warning(
      "pushes wait: the push service can't take them now",
      ["target": target, "status": status, "reason": reason])
  }
}
