internal import Budgets
internal import Configuration
internal import Cryptography
internal import HTTPProtocol
internal import MsgrProtocol
internal import Observability
internal import Routing
internal import ServiceKit
internal import Storage
internal import Synchronization
internal import Threading
internal import Time

/// Carries the outbox to the push service, as ``OutboxMachine`` decides.
final class PushOutbox: Sendable {
  /// The lines of the log on each kind of report in a minute, as a stranger's push service may cause as many as it likes.
  private static let linesPerMinute = 20

  /// The kind of its push services.
  let kind: PushKind
  private let store: MsgrStore
  private let provider: any PushProvider
  private let limits: OutboxMachine.Limits
  private let log: Log
  private let metrics: PushMetrics
  /// The name that this outbox leases pushes under, unlike that of any other process or earlier run.
  private let owner: [UInt8]
  /// True if `GET /debug/pushes` shows the pushes to the log.
  private let showsPushes: Bool
  private let lines: AttemptTable
  private let events = Mailbox<OutboxMachine.Event>()
  /// True if something was committed since the store was last asked for pushes.
  private let hasNews = Atomic<Bool>(false)

  /// Makes an outbox that pushes as soon as ``run()`` is called.
  ///
  /// - Parameters:
  ///   - kind: the kind of the push service.
  ///   - store: the store of the pushes.
  ///   - provider: the push service.
  ///   - limits: the number of pushes at once, and the times to wait.
  ///   - owner: random bytes.
  ///   - log: receives refusals and pauses.
  ///   - metrics: counts responses and the outbox.
  ///   - showsPushes: whether `GET /debug/pushes` shows the pushes to the log.
  init(
    _ kind: PushKind = .apns, store: MsgrStore, provider: any PushProvider,
    limits: OutboxMachine.Limits, owner: [UInt8], log: Log, metrics: PushMetrics,
    showsPushes: Bool = false
  ) {
    self.kind = kind
    self.store = store
    self.provider = provider
    self.limits = limits
    self.owner = owner
    self.log = log
    self.showsPushes = showsPushes
    self.metrics = metrics
    lines = AttemptTable(span: .seconds(60), size: 64, clock: store.clock)
  }

  /// Makes the outboxes of phones, one for each push service that the configuration names, so that none waits for another.
  ///
  /// - Throws: ``PushSetupError``, or ``HTTPClientError`` if no client for a push service can be made.
  static func ofPhones(
    _ context: ServiceContext, _ configuration: PushConfiguration, store: MsgrStore,
    _ metrics: PushMetrics
  ) throws -> [PushOutbox] {
    var providers: [(kind: PushKind, provider: any PushProvider)] = []
    if configuration.provider == .log {
      let log = LogProvider(
        log: context.log, showsPayloads: configuration.showsPushes, clock: context.clock)
      providers = [(.apns, log), (.fcm, log)]
    }
    if let apns = configuration.apns {
      let provider = try APNsProvider(apns, streams: configuration.streams, clock: context.clock)
      providers.append((.apns, provider))
    }
    if let fcm = configuration.fcm {
      let provider = try FCMProvider(
        fcm, streams: configuration.streams, clock: context.clock, metrics: context.metrics)
      providers.append((.fcm, provider))
    }
    return providers.map { kind, provider in
      PushOutbox(
        kind, store: store, provider: provider,
        limits: .init(inFlight: configuration.streams, of: kind), owner: context.randomBytes(16),
        log: context.log, metrics: metrics,
        showsPushes: configuration.showsPushes && kind == .apns)
    }
  }

  /// Makes the outbox of pushes to browsers.
  ///
  /// - Throws: ``PushSetupError``, or ``HTTPClientError`` if no client can be made.
  convenience init(
    _ context: ServiceContext, _ configuration: WebPushConfiguration, _ pair: P256KeyPair,
    store: MsgrStore, _ metrics: PushMetrics
  ) throws {
    let provider = try WebPushProvider(
      configuration, pair, publicURL: context.publicURL, clock: context.clock,
      randomBytes: context.randomBytes)
    context.metrics.budget(named: "msgr-pushes") { [load = provider.load] in load.statistics }
    self.init(
      .web, store: store, provider: provider,
      limits: .init(inFlight: PushServiceLoad.all + Self.mostThatAsk),
      owner: context.randomBytes(16), log: context.log, metrics: metrics)
  }

  /// The most pushes to browsers that ask for a place while all are taken.
  private static let mostThatAsk = 100

  /// Registers `GET /debug/pushes` for the operator, if pushes are logged and the configuration says so.
  func register(on router: inout Router) {
    guard showsPushes, let provider = provider as? LogProvider else { return }
    router.getForOperator("/debug/pushes") { _, _ in provider.recentPushes }
  }

  /// Reads the push service's credentials again.
  ///
  /// - Throws: ``PushSetupError`` if they are faulty; then the former ones stay.
  func reload() async throws { try await provider.reload() }

  /// Tells the outbox that a push was queued and committed.
  func wake() {
    // Once until the store is asked: while pushes are paused, each message would wake the task for nothing.
    guard !hasNews.exchange(true, ordering: .acquiringAndReleasing) else { return }
    events.put(.news)
  }

  /// Pushes until the task is cancelled.
  func run() async {
    guard let isProven = await isProven() else { return }
    var machine = OutboxMachine(limits, of: kind, isProven: isProven, random: uniform)
    await withDiscardingTaskGroup { group in
      var arrived: [OutboxMachine.Event] = []
      while !Task.isCancelled {
        for action in machine.advance(arrived, at: store.clock()) { perform(action, in: &group) }
        let now = store.clock()
        arrived = await events.take(within: now.duration(to: machine.wakeTime(at: now)))
      }
      // The attempts under way end with the group.
      group.cancelAll()
      for event in arrived { events.put(event) }
    }
    await finish(&machine)
  }

  /// Returns whether the push service has ever taken a push, as soon as the store can say it; nil if the task is
  /// cancelled before.
  private func isProven() async -> Bool? {
    while !Task.isCancelled {
      do { return try await store.hasProven(provider.target) } catch {
        log.warning("the outbox can't be read yet", ["cause": "\(error)"])
        try? await Task.sleep(for: .seconds(1))
      }
    }
    return nil
  }

  /// Settles the last pushes, and gives back the unfinished ones.
  private func finish(_ machine: inout OutboxMachine) async {
    let now = store.clock()
    for action in machine.advance(events.takeNow(), at: now) {
      if case .settle(let push, let settlement) = action { await settle(push, settlement) }
    }
    for push in machine.unsettled { await settle(push, .retried(at: now)) }
  }

  private func perform(_ action: OutboxMachine.Action, in group: inout DiscardingTaskGroup) {
    switch action {
    case .lease(let count):
      // Before the lease, which sees all that was committed earlier.
      _ = hasNews.exchange(false, ordering: .acquiringAndReleasing)
      group.addTask { [self] in events.put(await lease(atMost: count)) }
    case .send(let push):
      group.addTask { [self] in events.put(.tried(push.id, await send(push))) }
    case .sendAgain(let push):
      group.addTask { [self] in
        // Without a lease the push is another outbox's by now.
        guard (try? await store.renewLease(of: push, owner: owner)) == true else {
          return events.put(.settled(push.id))
        }
        events.put(.tried(push.id, await send(push)))
      }
    case .refreshCredentials: provider.refreshCredentials()
    case .settle(let push, let settlement):
      group.addTask { [self] in
        await settle(push, settlement)
        events.put(.settled(push.id))
      }
    case .report(let report): tell(report)
    }
  }

  /// Draws a number of a range.
  private func uniform(_ range: ClosedRange<Double>) -> Double {
    let bits = store.randomBytes(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    // As many bits as a double holds.
    let fraction = Double(bits >> 11) / Double(1 << 53 as UInt64)
    return range.lowerBound + (range.upperBound - range.lowerBound) * fraction
  }

  private func lease(atMost count: Int) async -> OutboxMachine.Event {
    do {
      // Before the lease, which a failure must not lose.
      if metrics.wantsState { metrics.note(try await store.outboxState()) }
      let (pushes, next) = try await store.leasePushes(atMost: count, owner: owner, of: kind)
      return .leased(pushes, next: next)
    } catch {
      log.error("the outbox can't be read", ["cause": "\(error)"])
      return .storeFailed
    }
  }

  private func send(_ push: Push) async -> PushOutcome {
    let start = ContinuousClock.now
    let outcome = await provider.push(push)
    metrics.note(outcome, of: kind, after: ContinuousClock.now - start)
    return outcome
  }

  private func settle(_ push: Push, _ settlement: PushSettlement) async {
    do {
      try await store.settle(push, owner: owner, settlement, target: provider.target)
    } catch {
      // The lease runs out, and the message is pushed again under the same identifier.
      log.error("the outcome of a push can't be noted", ["cause": "\(error)"])
    }
  }

  private func tell(_ report: OutboxMachine.Report) {
    metrics.note(report)
    let most = report == .appLacksKey ? 1 : Self.linesPerMinute
    guard lines.count(report.name, upTo: most) == nil else { return }
    switch report {
    case .targetInDoubt(let reason, let pause):
      log.error(
        "the push service calls devices bad and has never taken one: are URL and topic or project right?",
        ["target": provider.target, "reason": reason, "pause": pause])
    case .unreachable(let why, let pause):
      log.error(
        "the push service can't be reached",
        ["target": provider.target, "cause": why, "pause": pause])
    case .misconfigured(let status, let reason, let pause):
      log.error(
        "the push service refuses this server: are credentials, topic and project right?",
        ["target": provider.target, "status": status, "reason": reason, "pause": pause])
    case .refused(let status, let reason):
      log.error("a push was refused and is dropped", ["status": status, "reason": reason])
    case .unauthorized(let status):
      log.error("a push service doesn't take this server's key", ["status": status])
    case .appLacksKey:
      log.error("Firebase lacks the key for an app's pushes: a push is dropped", ["status": 401])
    case .expired: log.warning("a push was not delivered in time and is dropped")
    case .unbound(let reason): log.info("a device is gone and is unbound", ["reason": reason])
    }
  }
}

extension OutboxMachine.Report {
  /// A name that all reports of one kind have.
  fileprivate var name: String {
    switch self {
    case .targetInDoubt: "in doubt"
    case .unreachable: "unreachable"
    case .misconfigured: "misconfigured"
    case .appLacksKey: "app lacks key"
    case .refused: "refused"
    case .unauthorized: "unauthorized"
    case .expired: "expired"
    case .unbound: "unbound"
    }
  }
}
