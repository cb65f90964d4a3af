internal import ApptimistProtocol
internal import Cluster
internal import Cryptography
internal import Ethereum
internal import Formats
internal import Observability
internal import Platform
internal import Push
internal import ServiceKit
internal import Storage
internal import Synchronization

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
  /// Returns the time by which rows may be deleted for their age.
  private let expiry: @Sendable () -> Timestamp
  private let lastSession = Atomic<UInt64>(0)
  /// The number of the newest change by another program that was applied.
  private let lastForeignChange = Atomic<Int64>(-1)

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
    let directory = AccountDirectory(store, isShared: nodes != nil)
    messages = MessageDelivery(
      store: store, directory: directory, fanOut: ForumFanOut(keys: keys, store: store), hub: hub,
      nodes: nodes, clients: clients, metrics: metrics,
      storage: AccountStorage(store, limit: configuration.clients.storedPerAddress),
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

  /// Applies what commands beside the server have changed: closes the sessions of users who are disabled or deleted, and
  /// forgets what is remembered of accounts.
  func applyForeignChanges() async throws {
    guard hub.count > 0, let change = try await store.changesOfOthers(),
      lastForeignChange.load(ordering: .relaxed) != change
    else { return }
    try await store.reloadAccounts()
    directory.forgetAll()
    let users = Set(hub.members.map(\.user))
    for user in try await store.lacking(among: users) { hub.closeAll(of: user) }
    lastForeignChange.store(change, ordering: .relaxed)
  }

  /// Forgets forums that are deleted or have changed, and closes a user's sessions of version 1.
  func accountChanged(_ user: EncryptionPublicKey, lost forums: [EncryptionPublicKey] = []) async {
    files.forget(forums)
    await hub.closeVersion1(of: user)
    await nodes?.closedVersion1(of: user)
  }

  /// Makes an account.
  func register(_ new: RequestedAccount, from requester: Requester) async throws -> ErrorCode {
    do {
      let lost = try await accounts.register(new, from: requester.network)
      if new.isClosed || lost != nil { await accountChanged(new.key, lost: lost ?? []) }
      return .done
    } catch let refusal as AccountService.Refusal { return refusal.error }
  }

  /// Makes a forum.
  func makeForum(_ new: RequestedAccount, author: AccountLogin) async throws -> ErrorCode {
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

extension SessionUseCases {
  /// Carries out a query of a session, whose promise has the reply afterwards, unless it failed.
  func perform(_ query: Query, for requester: Requester) async {
    do { try await attempt(query, for: requester) } catch {
      if isFailure(error) {
        log.error("request failed", ["request": query.name, "cause": "\(error)"])
      }
    }
  }

  /// Reads a part of the mailbox of a user who has logged in; nil if it cannot be read.
  func page(for login: AccountLogin, after position: MailboxPosition) async -> MailboxPage? {
    do {
      return try await store.page(
        of: login.user, after: position, maxBytes: store.limits.pageBytes,
        maxEntries: store.limits.pageEntries, login: login)
    } catch {
      if isFailure(error) {
        log.error("stream ended: the mailbox can't be read", ["cause": "\(error)"])
      }
      return nil
    }
  }

  /// Returns whether an error is a failure, which is counted. The store is closed once all sessions are; what is left
  /// of them is no failure.
  private func isFailure(_ error: any Error) -> Bool {
    guard (error as? StoreError)?.code != .closed else { return false }
    metrics.failed.add()
    return true
  }

  /// Returns whether the content of a file may be stored.
  private func mayStore(_ content: [UInt8], for requester: Requester) async throws -> Bool {
    let user = try requester.loggedIn().user
    guard try await !messages.isRefusedNewcomer(user) else { return false }
    return try await messages.mayStore(content.count, for: requester)
  }

  private func attempt(_ query: Query, for requester: Requester) async throws {
    switch query {
    case .claim(let key, let reply): reply.fulfill(ephemeralKeys.claim(key))
    case .register(let new, let reply): reply.fulfill(try await register(new, from: requester))
    case .start(let origin, let reply):
      let isFirst = try await ephemeralKeys.record(origin.ephemeralKey, usedBy: origin.user)
      let start =
        isFirst
        ? try await store.start(of: origin.user, head: origin.head, max: origin.max) : nil
      reply.fulfill(start)
    case .post(let posts, let reply):
      reply.fulfill(try await messages.deliver(posts, from: requester).outcomes)
    case .truncate(let id, let reply):
      reply.fulfill(try await messages.truncate(id, from: requester))
    case .vouchers(let subject, let reply):
      reply.fulfill(try await store.vouchers(of: subject))
    case .find(let search, let reply):
      let found = try await accounts.search(
        search, behind: nil, max: search.count(upTo: store.limits.found), from: requester.network)
      reply.fulfill(found.map(\.user))
    case .file(let request, let reply):
      if case .write(let content?) = request.act, try await !mayStore(content, for: requester) {
        return reply.fulfill(.refused(.overQuota))
      }
      reply.fulfill(
        try await files.reply(to: request, by: requester.loggedIn(), in: requester.session))
    case .makeForum(let new, let reply):
      reply.fulfill(try await makeForum(new, author: requester.loggedIn()))
    case .deleteForum(let key, let reply):
      reply.fulfill(try await files.deleteForum(key, by: requester.loggedIn()))
    case .vouch(let subject, let signature, let reply):
      reply.fulfill(
        try await store.vouch(for: subject, by: requester.loggedIn(), signature: signature))
    case .revoke(let subject, let reply):
      try await store.revokeVouch(for: subject, by: requester.loggedIn())
      reply.fulfill(.done)
    case .account(let key, let reply): reply.fulfill(try await store.knownAccount(key))
    case .begin(let request, let reply):
      reply.fulfill(try await begin(request, in: requester.session))
    case .truncation(let id, let reply):
      reply.fulfill(try await store.truncation(of: id, user: requester.loggedIn().user))
    case .acknowledge(let position, let id, let isAnswered, let reply):
      let device = Acknowledgement.Device(user: try requester.loggedIn().user, id: id)
      let acknowledgement = Acknowledgement(device: device, position: position)
      if isAnswered {
        try await store.acknowledge([acknowledgement])
      } else {
        acknowledgements.record(acknowledgement)
      }
      reply.fulfill(.done)
    case .leave(let reply): reply.fulfill(try await leave(requester))
    case .join(let forum, let reply): reply.fulfill(try await gates.join(forum, requester))
    case .push(let push, let data, let device, let reply):
      reply.fulfill(try await bind(push, data, device, requester))
    case .exists(let key, let reply):
      reply.fulfill(try await store.exists(key) ? .done : .notFound)
    case .voucherPage(let query, let reply): reply.fulfill(try await lists.vouchers(query))
    case .search(let search, let reply):
      reply.fulfill(try await lists.accounts(search, for: requester.network))
    }
  }
}

extension SessionUseCases {
  /// The kinds of push addresses, in the order of their numbers, which begin at 1.
  private static let pushKinds: [PushKind] = [.apns, .apnsSandbox, .fcm, .web]

  /// The names of the kinds of push addresses that are served; nil if none is.
  var pushNames: [String]? {
    wakes.map { wakes in Self.pushKinds.filter(wakes.queue.kinds.contains).map(\.name) }
  }

  /// Binds a device to a push address, or unbinds it (page "Wakes").
  ///
  /// - Returns: the first error that applies.
  private func bind(
    _ push: Version2.Push, _ data: [UInt8], _ id: Version2.DeviceID, _ requester: Requester
  ) async throws -> ErrorCode {
    let kind = (1...4).contains(push.kind) ? Self.pushKinds[Int(push.kind) - 1] : nil
    guard let wakes, kind.map(wakes.queue.kinds.contains) ?? true else { return .noSuchType }
    var binding: WakeBinding?
    if let kind {
      let length = Int(push.addressLength)
      guard push.flags <= 1, push.keyCount <= 256,
        data.count == length + Int(push.keyCount) * EncryptionPublicKey.byteCount,
        let address = try? PushAddress(
          kind, bytes: Array(data.prefix(length)), allowed: pushes.allowedWebHosts)
      else { return .badField }
      binding = WakeBinding(
        address: address, tag: push.tag.bytes, isChosen: push.flags == 1,
        keys: Array(data.dropFirst(length)))
    } else if push != Version2.Push(nil) || !data.isEmpty {
      return .badField
    }
    let login = try requester.loggedIn()
    let device = Acknowledgement.Device(user: login.user, id: id)
    guard try await store.binding(of: device) != binding else { return .done }
    guard clients.mayChangeAddress(login.user) else { return .overQuota }
    try await store.bind(
      binding, to: id, in: NodeSession(node: node, session: requester.session), by: login)
    return .done
  }
}

extension Query {
  /// The kind of query, for the log: nothing of what a device sent.
  fileprivate var name: String {
    switch self {
    case .claim: "claim"
    case .register: "new"
    case .account: "login"
    case .start, .begin: "stream"
    case .makeForum: "new forum"
    case .deleteForum: "del"
    case .post: "message"
    case .truncate, .truncation: "truncate"
    case .acknowledge: "ack"
    case .push: "push"
    case .vouch, .revoke, .exists: "vouch"
    case .leave: "leave"
    case .join: "join"
    case .vouchers, .voucherPage: "vouchers"
    case .find, .search: "search"
    case .file: "file"
    }
  }
}
