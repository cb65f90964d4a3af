internal import Budgets
internal import Cluster
internal import Cryptography
internal import Observability
internal import Push
internal import ServiceKit
internal import Synchronization
internal import Platform

/// The work of the service: requests, streams and commands end up here.
///
/// A caller is identified and counted before anything is queued. The store's transaction takes values and returns values;
/// its effects follow after the commit.
final class MessageService: Sendable {
  /// The refused messages that a sender may have in a minute, however few others.
  private static let leastRefused = 60
  private static let exportsPerMinute = 3
  /// The seconds after which an account whose site has stored enough may try again.
  private static let storageRetry = 600
  private static let tidiesPerHour = 60

  let store: MsgrStore
  private let disk: DiskReserve
  let hub: StreamHub
  /// The other nodes that share the store, if there are any.
  let link: NodeLink<StreamRegistry>
  private let lastStream = Atomic<Int64>(0)
  private let tidied = Atomic(0)
  let slots: MessageStreamSlots
  /// The pushes to phones and browsers.
  let pushes: Pushes
  /// The choice of push services for phones.
  let push: PushMode
  /// The public half of the key that browsers' subscriptions are bound to.
  let pushKey: P256PublicKey
  let log: Log
  let authenticator: Authenticator
  /// The logins by wallets, or nil if there are none.
  let wallets: WalletLogins?
  let passwords: PasswordVerifier
  let registrations: RegistrationLimits
  let refusals: RefusalReport
  let sent: AttemptTable
  /// Counts requests that the store refused, for example because there is no such user: a caller has as many of these as
  /// messages.
  private let refused: AttemptTable
  /// The exports of an account. Each is much work.
  private let exports: AttemptTable
  let messagesPerMinute: Int
  let publishing: PublishingLimits
  /// The users who may make an account by a request.
  let signup: Signup
  let randomBytes: @Sendable (Int) -> [UInt8]
  let accepted: Counter
  /// Returns the time by which rows may be deleted for their age.
  private let expiry: @Sendable () -> Timestamp

  init(_ context: ServiceContext, _ configuration: MsgrConfiguration) throws {
    hub = StreamHub(limit: configuration.streams.ofAccount)
    var store = MsgrStore(
      context, configuration,
      own: LocalInboxStrategy { [hub] name in
        hub.members(of: name).map { ($0.token.device, $0.start) }
      })
    store.storage = MessageStorage(store, limit: configuration.storedPerAddress)
    self.store = store
    pushes = context.pushes
    push = configuration.push
    pushKey = try pushes.webKey()
    try pushes.serve(
      MsgrPushes(
        store: store, page: (context.publicURL ?? "") + "/msgr/",
        mayBeCritical: configuration.pushServices.apns?.mayBeCritical ?? false), store.pushes)
    wallets = try configuration.siwe.map { rules in
      guard let secret = try context.pushes.webKeyPair().secretNumber else {
        throw WalletSetupError()
      }
      return try WalletLogins(rules, configuration.chains, context, secret: secret)
    }
    log = context.log
    disk = context.disk
    slots = MessageStreamSlots(configuration.streams)
    refusals = RefusalReport(context.log, context.metrics, clock: context.clock)
    registrations = RegistrationLimits(configuration.registrations, clock: context.clock)
    passwords = try PasswordVerifier(
      store, configuration, randomBytes: context.randomBytes, report: refusals,
      metrics: context.metrics
    ) { [bus = context.bus] failure in
      let message = NodeMessage.failure(
        place: failure.login.place.words, isFamiliar: failure.isFamiliar)
      let topic = NotificationTopic(MsgrService.name, Array(failure.login.name.text.utf8))
      bus.publish([NodeNotification(topic, message.bytes)])
    }
    link = NodeLink(
      hub, StreamRegistry(node: context.node, store: store, hub: hub, passwords: passwords),
      of: MsgrService.name, node: context.node, bus: context.bus, log: context.log)
    authenticator = Authenticator(store, passwords)
    sent = AttemptTable(span: .seconds(60), clock: context.clock)
    refused = AttemptTable(span: .seconds(60), size: 1 << 12, clock: context.clock)
    exports = AttemptTable(span: .seconds(60), size: 1 << 12, clock: context.clock)
    messagesPerMinute = configuration.messagesPerMinute
    publishing = PublishingLimits(
      messageBytes: configuration.messageBytes, rate: configuration.publishing,
      used: RefillTable(clock: context.clock))
    signup = configuration.signup
    randomBytes = context.randomBytes
    expiry = context.expiry
    accepted = context.metrics.counter(
      "awd_msgr_messages_total", "Stored messages, including contact requests")
    context.metrics.gauge("awd_msgr_streams", "Open streams") { [hub] in Double(hub.count) }
    context.metrics.budget(named: "msgr-streams") { [slots] in slots.statistics }
  }

  /// Returns whether a device may log in: where pushes are on, its push service must be configured.
  func accepts(_ device: DeviceID) -> Bool { Self.accepts(device, push, store.pushes.kinds) }

  static func accepts(_ device: DeviceID, _ mode: PushMode, _ kinds: Set<PushKind>) -> Bool {
    guard mode == .on, let kind = device.pushAddress?.kind else { return true }
    return kinds.contains(kind)
  }

  /// Refuses credentials that aren't good.
  func confirm(_ credentials: RequestCredentials) async throws {
    _ = try await authenticator.perform(as: credentials, store.name)
  }

  // MARK: - Contacts

  /// Refuses an account that there is no room for.
  func refuseAccountsWithoutRoom() throws(RequestRefusal) {
    if disk.refusesStrangers { throw .noRoom }
  }

  /// Refuses messages that there is no room for: the site that made the sender's account has stored enough, or there is little
  /// room on the disk and the sender is a stranger to a recipient.
  func refuseWithoutRoom(
    for bytes: Int, of sender: UserName, to recipients: [UserName]
  ) async throws {
    let size = (bytes + MsgrStore.messageOverhead) * recipients.count
    if let storage = store.storage, try await !storage.mayStore(size, by: sender) {
      throw RequestRefusal.tooMany(retryAfter: Self.storageRetry)
    }
    guard disk.refusesStrangers else { return }
    for recipient in recipients {
      guard try await store.knows(recipient, sender) else { throw RequestRefusal.noRoom }
    }
  }

  /// Asks a user to become a friend, or agrees.
  func add(_ friend: UserName, by credentials: RequestCredentials) async throws -> Friendship {
    try await authenticator.perform(as: credentials) { caller in
      // Only a new request counts, which the transaction finds out.
      let wait = sent.count(caller.name, upTo: messagesPerMinute)
      var isCounted = wait == nil
      defer { if isCounted { sent.refund(caller.name) } }
      let (friendship, request) = try await countingRefusals(of: caller) {
        try await store.add(friend, by: caller, wait: wait)
      }
      if let request {
        isCounted = false
        publishEffects(request)
      }
      return friendship
    }
  }

  /// Blocks a user.
  func block(_ user: UserName, by caller: Caller) async throws {
    try await countingRefusals(of: caller) { try await store.block(user, by: caller) }
  }

  /// Does something that is refused if there is no such user, which a caller may not ask for without end.
  func countingRefusals<Value>(
    of caller: Caller, _ act: () async throws -> Value
  ) async throws -> Value {
    let limit = max(messagesPerMinute, Self.leastRefused)
    if let wait = refused.wait(for: caller.name, upTo: limit) {
      throw RequestRefusal.tooMany(retryAfter: wait)
    }
    do {
      return try await act()
    } catch let refusal as RequestRefusal {
      // A caller who has to wait learns nothing.
      if case .tooMany = refusal {} else { _ = refused.count(caller.name, upTo: .max) }
      throw refusal
    }
  }

  // MARK: - Messages

  /// Sends a message.
  ///
  /// - Returns: the delivery of the message, which is on the disk.
  func send(_ draft: Draft, by credentials: RequestCredentials) async throws -> SendReceipt {
    try await authenticator.perform(as: credentials) { caller in
      guard draft.text.fitsIntoPush(from: caller.name) else { throw RequestRefusal.tooLong }
      let delivery = try await countingRefusals(of: caller) {
        if let wait = sent.count(caller.name, upTo: messagesPerMinute) {
          throw RequestRefusal.tooMany(retryAfter: wait)
        }
        do {
          try await refuseWithoutRoom(
            for: draft.text.text.utf8.count, of: caller.name, to: [draft.recipient])
          return try await store.send(draft, by: caller)
        } catch {
          sent.refund(caller.name)
          throw error
        }
      }
      publishEffects(delivery)
      return delivery
    }
  }

  /// Records that the caller has read everything from another user up to a message, and notifies the caller's other streams.
  func read(from sender: UserName, upTo last: MsgrMessageID, by credentials: RequestCredentials)
    async throws
  {
    try await authenticator.perform(as: credentials) { caller in
      let read = try await store.markRead(from: sender, upTo: last, by: caller)
      hub.showRead(from: sender, upTo: last, to: caller.name, besides: caller.device)
      guard let read else { return }
      let message = NodeMessage.read(upTo: read.last, on: caller.device)
      link.notify(message.bytes, of: caller.name, on: read.nodes)
    }
  }

  /// Returns all that is kept of the caller's account, as JSON.
  func export(_ credentials: RequestCredentials) async throws -> AsyncThrowingStream<
    [UInt8], any Error
  > {
    try await authenticator.perform(as: credentials) { caller in
      if let wait = exports.count(caller.name, upTo: Self.exportsPerMinute) {
        throw RequestRefusal.tooMany(retryAfter: wait)
      }
      return try await store.export(for: .user(caller))
    }
  }

  // MARK: - Background

  /// Deletes messages and tokens that are too old, and closes streams whose tokens another process has ended.
  func tidy() async throws {
    while try await store.expire(at: expiry()) {}
    if tidied.wrappingAdd(1, ordering: .relaxed).oldValue.isMultiple(of: Self.tidiesPerHour) {
      try await store.forgetOldAcquaintances()
    }
    let tokens = hub.members.map(\.member.token.hash)
    guard !tokens.isEmpty else { return }
    hub.end(Set(try await store.ended(of: tokens)))
    try await store.recordUse(of: tokens)
  }

  /// Makes the number of a stream that has begun.
  func newStream() -> Int64 { lastStream.wrappingAdd(1, ordering: .relaxed).newValue }
}
