internal import PushResources
package import Budgets
package import Cryptography
package import Observability
package import Storage
package import Platform
package import Formats

/// The pushes of all services in the process, with an outbox for each kind of address that one of them pushes to.
package final class Pushes: Sendable {
  /// The history of the tables, which begins with version 1.0.0. A service that pushes has it before its own.
  package static let migrations = [
    Migration(
      owner: "push", number: 1, sqlite: Resource(push_schema_sqlite_sql()).bytes,
      postgreSQL: Resource(push_schema_postgresql_sql()).bytes)
  ]

  /// The most pushes to browsers that wait for a place while all are taken.
  private static let mostWaiting = 100

  /// The interval at which pushes are deleted that expired while no outbox leased them.
  private static let expiryInterval = Duration.seconds(600)

  private struct State {
    var services: [(queue: PushQueue, source: any PushSource)] = []
    var providers: [PushKind: any PushProvider] = [:]
    /// The outboxes, once they run.
    var outboxes: [PushOutbox] = []
    var webKey: P256KeyPair?
  }

  private let configuration: PushConfiguration
  private let store: PushStore
  private let log: Log
  private let registry: Metrics
  private let metrics: PushMetrics
  private let publicURL: String?
  private let logProvider: LogProvider
  /// The places for pushes that are leased as they are queued.
  private let direct = Dictionary(
    uniqueKeysWithValues: PushKind.allCases.map { ($0, DirectLeases()) })
  private let state = Lock(State())

  /// Makes the pushes of a process. Nothing is pushed before ``run()``.
  ///
  /// - Parameters:
  ///   - store: the store, with the tables of ``migrations``.
  ///   - clock: tells the time, which is the same for all nodes.
  ///   - publicURL: the server's URL as seen from outside, if it is known.
  package init(
    _ configuration: PushConfiguration, store: Store, log: Log, metrics: Metrics,
    clock: @escaping @Sendable () -> Timestamp, publicURL: String? = nil
  ) {
    self.configuration = configuration
    self.store = PushStore(store: store, clock: clock)
    self.log = log
    self.publicURL = publicURL
    registry = metrics
    self.metrics = PushMetrics(metrics, clock: clock)
    logProvider = LogProvider(log: log, showsPayloads: configuration.showsPayloads, clock: clock)
  }

  /// The hosts of browsers' push services that may have another port than 443.
  package var allowedWebHosts: Set<HostAndPort> { configuration.web.allowed }

  /// Returns the figures of the places for pushes to browsers; nil if there are none.
  package var webPlaces: (@Sendable () -> BudgetStatistics)? {
    guard let provider = state.withLock({ $0.providers[.web] }) as? WebPushProvider else {
      return nil
    }
    return { provider.load.statistics }
  }

  /// True if pushes go to the log, and their payloads are kept to be shown.
  package var showsPayloads: Bool {
    configuration.showsPayloads
      && state.withLock { $0.services.contains { !$0.queue.loggedKinds.isEmpty } }
  }

  /// The last payloads of pushes to the log, in JSON.
  package var recentPayloads: [UInt8] { logProvider.recent }

  /// Makes the queue of a service.
  ///
  /// - Parameters:
  ///   - mode: whether its pushes go out.
  ///   - web: whether those to browsers do; nil if that is no other matter.
  package func queue(of service: String, _ mode: PushMode, web: PushMode? = nil) -> PushQueue {
    let browsers = web ?? mode
    var kinds = self.kinds(in: mode).subtracting([.web])
    if self.kinds(in: browsers).contains(.web) { kinds.insert(.web) }
    var logged: Set<PushKind> = mode == .log ? kinds.subtracting([.web]) : []
    if browsers == .log { logged.insert(.web) }
    return PushQueue(
      service: service, kinds: kinds, loggedKinds: logged,
      dropped: metrics.dropped(of: service, for: "too many"), direct: direct)
  }

  private func kinds(in mode: PushMode) -> Set<PushKind> {
    switch mode {
    case .off: []
    case .log: Set(PushKind.allCases)
    case .on: configuration.kinds
    }
  }

  /// Begins to push what a service queues. It is called once, before ``run()``.
  ///
  /// - Parameter source: the part of the service that its pushes need, which doesn't hold this object.
  /// - Throws: ``PushSetupError`` if a key can't be read, or an error of the HTTP client.
  package func serve(_ source: any PushSource, _ queue: PushQueue) throws {
    metrics.add(queue.service)
    for kind in queue.kinds.subtracting(queue.loggedKinds)
    where state.withLock({ $0.providers[kind] == nil }) {
      let provider = try provider(of: kind)
      state.withLock { $0.providers[kind] = provider }
    }
    state.withLock { $0.services.append((queue, source)) }
  }

  private func provider(of kind: PushKind) throws -> (any PushProvider)? {
    switch kind {
    case .apns, .apnsSandbox:
      try configuration.apns.map {
        try APNsProvider(
          $0, isSandbox: kind == .apnsSandbox, streams: configuration.streams, clock: store.clock)
      }
    case .fcm:
      try configuration.fcm.map {
        try FCMProvider($0, streams: configuration.streams, clock: store.clock, metrics: registry)
      }
    case .web:
      try WebPushProvider(
        configuration.web, try webKeyPair(), publicURL: publicURL, clock: store.clock,
        randomBytes: SecureRandom.bytes)
    }
  }

  /// Returns the public half of the key that subscriptions of browsers are bound to. The first call makes its file if there
  /// is none, and blocks on the disk.
  ///
  /// - Throws: ``PushSetupError`` if it can't be read or made.
  package func webKey() throws -> P256PublicKey { try webKeyPair().publicKey }

  /// Returns both halves of that key, whose secret all nodes have.
  package func webKeyPair() throws -> P256KeyPair {
    if let pair = state.withLock(\.webKey) { return pair }
    // Not under the lock, as it blocks on the disk. Of several who make the file one succeeds, and all read that one's key.
    let (pair, isNew) = try VAPIDKeyFile(path: configuration.webKey).open()
    if isNew { log.info("made the key of pushes to browsers", ["file": configuration.webKey]) }
    state.withLock { $0.webKey = pair }
    return pair
  }

  /// Notifies the outboxes of some kinds that a push was queued or made due, and committed.
  package func wake(_ kinds: Set<PushKind>) {
    for outbox in state.withLock({ $0.outboxes }) where kinds.contains(outbox.kind) {
      outbox.wake()
    }
  }

  /// Sends pushes that were leased as they were queued, and committed.
  package func send(_ pushes: [LeasedPush]) {
    guard !pushes.isEmpty else { return }
    for outbox in state.withLock({ $0.outboxes }) {
      outbox.send(pushes.filter { $0.address.kind == outbox.kind })
    }
  }

  /// Reads credentials again that may be others by now.
  ///
  /// - Throws: ``PushSetupError`` that says what is wrong with some; then the former ones stay.
  package func reload() async throws {
    for provider in state.withLock({ $0.providers.values }) { try await provider.reload() }
  }

  /// Pushes until the task is cancelled.
  package func run() async {
    let present = state.withLock { $0 }
    let outboxes = PushKind.allCases.compactMap { outbox($0, present) }
    state.withLock { $0.outboxes = outboxes }
    await withTaskGroup { group in
      for outbox in outboxes { group.addTask { await outbox.run() } }
      group.addTask { await self.deleteExpired() }
    }
  }

  /// Deletes expired pushes again and again, until the task is cancelled.
  private func deleteExpired() async {
    while !Task.isCancelled {
      do {
        var expired: [String] = []
        repeat {
          expired = try await store.deleteExpired()
          for service in expired { metrics.count(.dropped(.expired), of: service) }
        } while !expired.isEmpty
      } catch {
        log.warning("expired pushes could not be deleted; retrying", ["cause": "\(error)"])
      }
      try? await Task.sleep(for: Self.expiryInterval)
    }
  }

  /// Makes the outbox of a kind, unless no service pushes to such addresses.
  private func outbox(_ kind: PushKind, _ state: State) -> PushOutbox? {
    var services: [String: PushOutbox.Service] = [:]
    for (queue, source) in state.services where queue.kinds.contains(kind) {
      services[queue.service] = PushOutbox.Service(
        source: source, log: queue.loggedKinds.contains(kind) ? logProvider : nil)
    }
    guard !services.isEmpty else { return nil }
    let most = kind == .web ? PushServiceLoad.all + Self.mostWaiting : configuration.streams
    var limits = OutboxMachine.Limits(inFlight: most, of: kind)
    // Nodes that share a store queue many pushes in one transaction. A store of one's own has a transaction for each message: there
    // it takes less under load to lease many by one.
    if !store.store.isShared { limits.leasedAsQueued = 8 }
    return PushOutbox(
      kind, store: store, provider: state.providers[kind], services: services, limits: limits,
      leases: direct[kind] ?? DirectLeases(), log: log, metrics: metrics)
  }
}
