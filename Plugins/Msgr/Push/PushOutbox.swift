internal import Configuration
internal import HTTPProtocol
internal import Observability
internal import ServiceKit
internal import Storage
internal import Synchronization
internal import Time

/// Carries the outbox to the push service: does what ``OutboxMachine`` decides.
final class PushOutbox: Sendable {
  private let store: MsgrStore
  private let provider: any PushProvider
  private let limits: OutboxMachine.Limits
  private let log: Log
  private let metrics: PushMetrics
  /// Who leases here, unlike any other process or earlier run.
  private let owner: [UInt8]
  /// Whether what is pushed to the log is shown.
  private let showsPushes: Bool
  private let events = EventQueue<OutboxMachine.Event>()

  /// An outbox that pushes as soon as ``run()`` is called.
  ///
  /// - Parameters:
  ///   - store: where the pushes are.
  ///   - provider: the push service.
  ///   - limits: how much at once, how long.
  ///   - owner: random bytes.
  ///   - log: where refusals and pauses are told.
  ///   - metrics: where answers and the queue are counted.
  ///   - showsPushes: whether what is pushed to the log is shown.
  init(
    store: MsgrStore, provider: any PushProvider, limits: OutboxMachine.Limits, owner: [UInt8],
    log: Log, metrics: Metrics, showsPushes: Bool = false
  ) {
    self.store = store
    self.provider = provider
    self.limits = limits
    self.owner = owner
    self.log = log
    self.showsPushes = showsPushes
    self.metrics = PushMetrics(metrics, clock: store.clock)
  }

  /// The outbox of the service, with the push service that its configuration names.
  ///
  /// - Throws: ``PushSetupError``, or what a client for the push service can't be made for.
  convenience init(
    _ context: ServiceContext, _ configuration: PushConfiguration, store: MsgrStore
  ) throws {
    let provider: any PushProvider
    switch configuration.provider {
    case .log: provider = LogProvider(log: context.log, clock: context.clock)
    case .apns:
      guard let apns = configuration.apns else {
        throw PushSetupError(message: "[msgr.apns] is not complete")
      }
      provider = try APNsProvider(apns, streams: configuration.streams, clock: context.clock)
    }
    var limits = OutboxMachine.Limits()
    limits.inFlight = configuration.streams
    self.init(
      store: store, provider: provider, limits: limits, owner: context.randomBytes(16),
      log: context.log, metrics: context.metrics, showsPushes: configuration.showsPushes)
  }

  /// Registers `GET /debug/pushes` for the operator, where pushes are logged and that is switched on.
  func register(on router: inout Router) {
    guard showsPushes, let provider = provider as? LogProvider else { return }
    router.getForOperator("/debug/pushes") { _, _ in provider.recentPushes }
  }

  /// Says that something was queued and committed.
  func wake() { events.put(.news) }

  /// Pushes until the task is cancelled.
  ///
  /// - Throws: ``StoreError`` if the store can't be asked at the start.
  func run() async throws {
    var machine = OutboxMachine(limits, isProven: try await store.hasProven(provider.target))
    await withDiscardingTaskGroup { group in
      var arrived: [OutboxMachine.Event] = []
      while !Task.isCancelled {
        for action in machine.advance(arrived, at: store.clock()) { perform(action, in: &group) }
        let now = store.clock()
        arrived = await events.take(within: machine.wakeTime(at: now) - now)
      }
      // What is under way ends with the group.
      group.cancelAll()
      for event in arrived { events.put(event) }
    }
    await finish(&machine)
  }

  /// Notes what became of the last pushes, and gives back those of which nothing became.
  private func finish(_ machine: inout OutboxMachine) async {
    let now = store.clock()
    for action in machine.advance(events.takeNow(), at: now) {
      if case .settle(let push, let settlement) = action { await settle(push, settlement) }
    }
    for push in machine.unsettled { await settle(push, .retried(at: now)) }
  }

  private func perform(_ action: OutboxMachine.Action, in group: inout DiscardingTaskGroup) {
    switch action {
    case .lease(let count): group.addTask { [self] in events.put(await lease(atMost: count)) }
    case .send(let push):
      group.addTask { [self] in events.put(.tried(push.id, await send(push))) }
    case .refreshCredentials: provider.refreshCredentials()
    case .settle(let push, let settlement):
      group.addTask { [self] in
        await settle(push, settlement)
        events.put(.settled(push.id))
      }
    case .report(let report): tell(report)
    }
  }

  private func lease(atMost count: Int) async -> OutboxMachine.Event {
    do {
      // Before the loan, which a failure must not lose.
      if metrics.wantsState { metrics.note(try await store.outboxState()) }
      let loan = try await store.leasePushes(atMost: count, owner: owner)
      return .leased(loan.pushes, next: loan.next)
    } catch {
      log.error("the outbox can't be read", ["cause": "\(error)"])
      return .storeFailed
    }
  }

  private func send(_ push: Push) async -> PushOutcome {
    let start = ContinuousClock.now
    let outcome = await provider.push(push)
    metrics.note(outcome, after: ContinuousClock.now - start)
    return outcome
  }

  private func settle(_ push: Push, _ settlement: PushSettlement) async {
    do {
      try await store.settle(push, owner: owner, settlement, target: provider.target)
    } catch {
      // Its lease runs out, and it is pushed again under the same identifier.
      log.error("what became of a push can't be noted", ["cause": "\(error)"])
    }
  }

  private func tell(_ report: OutboxMachine.Report) {
    metrics.note(report)
    switch report {
    case .targetInDoubt(let reason, let pause):
      log.error(
        "the push service calls devices bad and has never taken one: is it the right URL and topic?",
        ["target": provider.target, "reason": reason, "pause": pause])
    case .unreachable(let why, let pause):
      log.error(
        "the push service can't be reached",
        ["target": provider.target, "cause": why, "pause": pause])
    case .refused(let status, let reason):
      log.error("a push was refused and is dropped", ["status": status, "reason": reason])
    case .expired: log.warning("a push was not delivered in time and is dropped")
    case .unbound(let reason): log.info("a device is gone and is unbound", ["reason": reason])
    }
  }
}

extension Timestamp {
  fileprivate static func - (left: Timestamp, right: Timestamp) -> Duration {
    .milliseconds(left.milliseconds - right.milliseconds)
  }
}
