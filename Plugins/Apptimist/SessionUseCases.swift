internal import Formats
internal import ApptimistProtocol
internal import Ethereum
internal import Cryptography
internal import Cluster
internal import Observability
internal import Push
internal import ServiceKit
internal import Storage
internal import Synchronization
internal import Platform

/// The parts of the service behind its sessions.
final class SessionUseCases: Sendable {
  let keys: ServiceKeys
  let store: ApptimistStore
  let hub: SessionHub
  let clients: ClientAccounting
  let metrics: ApptimistMetrics
  let ephemeralKeys: EphemeralKeys
  let accounts: AccountService
  let messages: MessageDelivery
  let files: FileService
  let gates: GateService
  let lists: ListPages
  let acknowledgements: Acknowledgements
  /// The sessions on all nodes that share the store, or nil if there are no others.
  let nodes: SharedSessions?
  /// The URI that devices are redirected to when the server stops, or nil.
  let publicURI: String?
  /// The wakes of devices, or nil if the service pushes nothing.
  let wakes: Wakes?
  let pushes: Pushes
  /// This run of the program.
  let node: NodeID
  let log: Log
  private let directory: AccountDirectory
  /// Tells the time by which rows may be deleted for their age.
  private let expiry: @Sendable () -> Timestamp
  private let lastSession = Atomic<UInt64>(0)

  init(
    _ context: ServiceContext, _ configuration: ApptimistConfiguration, keys: ServiceKeys
  ) throws {
    self.keys = keys
    hub = SessionHub(limit: configuration.sessions)
    node = context.node
    pushes = context.pushes
    wakes = try Self.wakes(context, configuration)
    store = ApptimistStore(store: context.store, limits: configuration.store, wakes: wakes)
    if context.store.isShared {
      let registry = SessionRegistry(store, hub, node: context.node, limit: configuration.sessions)
      let link = NodeLink(
        hub, registry, of: ApptimistService.name, node: context.node, bus: context.bus,
        log: context.log)
      nodes = SharedSessions(
        node: context.node, hub: hub, registry: registry, link: link, store: store,
        log: context.log)
    } else {
      nodes = nil
    }
    clients = ClientAccounting(configuration.clients, clock: context.clock)
    metrics = ApptimistMetrics(context.metrics, hub: hub, clients: clients)
    ephemeralKeys = EphemeralKeys(
      store: store, keys: keys, age: configuration.ephemeralKeyAge, clock: context.clock)
    let checker = try AccountChecker(configuration.chains)
    accounts = AccountService(
      store: store, identity: try IdentityProvider(configuration, checker, clock: context.clock),
      clients: clients, disk: context.disk, log: context.log, clock: context.clock)
    let directory = AccountDirectory(store, readsForumsAnew: nodes != nil)
    messages = MessageDelivery(
      store: store, directory: directory, fanOut: ForumFanOut(keys: keys, store: store), hub: hub,
      nodes: nodes, clients: clients, metrics: metrics,
      storage: SiteStorage(store, limit: configuration.clients.storedPerAddress),
      disk: context.disk)
    files = FileService(
      store, directory, keys: keys, node: nodes?.node, gateChains: Set(configuration.chains.keys),
      locks: LockTable(lease: configuration.lockLease, limit: configuration.locks))
    gates = GateService(
      store: store, files: files, clients: clients, checker: checker, log: context.log,
      clock: context.clock, interval: configuration.gateInterval)
    lists = ListPages(
      store: store, accounts: accounts, hash: keys.cursorHash, max: configuration.pageMax)
    acknowledgements = Acknowledgements(store: store, log: context.log)
    self.directory = directory
    // `http` becomes `ws`, and `https` `wss`.
    publicURI = context.publicURL.map { "ws" + $0.dropFirst("http".count) + configuration.path }
    log = context.log
    expiry = context.expiry
  }

  /// Begins to push wakes.
  ///
  /// - Returns: nil if the service pushes nothing.
  private static func wakes(
    _ context: ServiceContext, _ configuration: ApptimistConfiguration
  ) throws -> Wakes? {
    let queue = context.pushes.queue(of: ApptimistService.name, configuration.push)
    let help = "Wakes that were queued, and that went as the device came"
    let queued = context.metrics.counter("awd_apptimist_wakes_total", help, ["what": "queued"])
    let cancelled = context.metrics.counter("awd_apptimist_wakes_total", help, ["what": "spared"])
    guard !queue.kinds.isEmpty else { return nil }
    try context.pushes.serve(WakeSource(), queue)
    return Wakes(queue: queue, limits: configuration.wakes, clock: context.clock) {
      [pushes = context.pushes] in
      queued.add(UInt64($0))
      cancelled.add(UInt64($1))
      if $2 { pushes.wake(queue.kinds) }
    }
  }

  /// Makes the number of a new session.
  func newSession() -> SessionID {
    SessionID(number: lastSession.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  /// Forgets the session of a user.
  func ended(_ session: SessionID, of user: EncryptionPublicKey) {
    hub.leave(session, of: user)
    ended(session)
    acknowledgements.flushSoon()
  }

  /// Ends what a session has that is over.
  func ended(_ session: SessionID) {
    files.ended(session)
    // If that fails, the next look finds it where nodes share the store; else a wake is held for a while.
    Task { [store, node] in try? await store.leave(NodeSession(node: node, session: session)) }
  }

  /// Deletes expired ephemeral keys, invitations and push addresses.
  func deleteExpired() async throws {
    while try await store.expire(at: expiry()) { try Task.checkCancellation() }
    while try await store.emptyUnusedMailboxes(at: expiry()) { try Task.checkCancellation() }
  }

  /// Forgets forums that are deleted or have changed, and closes a user's sessions of version 1.
  func accountChanged(_ user: EncryptionPublicKey, lost forums: [EncryptionPublicKey] = []) async {
    files.forget(forums)
    await hub.closeVersion1(of: user)
    await nodes?.closedVersion1(of: user)
  }

  /// Makes an account.
  func register(_ new: NewAccount, from requester: Requester) async throws -> ErrorCode {
    do {
      let lost = try await accounts.register(new, from: requester.network)
      if new.isClosed || lost != nil { await accountChanged(new.key, lost: lost ?? []) }
      return .done
    } catch let refusal as AccountService.Refusal { return refusal.error }
  }

  /// Makes a forum.
  func makeForum(_ new: NewAccount, author: AccountLogin) async throws -> ErrorCode {
    let isNew = try await !store.exists(new.key)
    if isNew, NameFault.find(in: new.name.text) != nil { return .badFilename }
    let outcome = try await store.createForum(new, author: author)
    if outcome == .done { directory.forget(new.key) }
    return outcome
  }

  /// Deletes a user's account, and closes the user's other sessions.
  func leave(_ requester: Requester) async throws -> ErrorCode {
    let login = try requester.loggedIn()
    guard let (forums, nodes) = try await store.leave(login) else { return .notPermitted }
    files.forget(forums + [login.user])
    hub.closeAll(of: login.user, but: requester.session)
    self.nodes?.link.notify(SessionRegistry.Message.left.content, of: login.user, on: nodes)
    return .done
  }

  /// Begins the stream of a device that has proved to be its user's.
  ///
  /// - Returns: nil if the account has changed meanwhile.
  func begin(_ request: StreamRequest, in session: SessionID) async throws -> StreamStart? {
    guard
      try await store.prove(
        request.user, request.authenticationKey, closes: request.closes, at: clients.now())
    else { return nil }
    if request.closes { await accountChanged(request.user) }
    let device = Acknowledgement.Device(user: request.user, id: request.device)
    if request.after == nil { try await acknowledgements.flush(device) }
    try await store.use(device)
    try await store.show(device, in: NodeSession(node: node, session: session))
    return try await store.beginning(request)
  }
}
