internal import Addresses
internal import Budgets
internal import Cryptography
internal import MsgrMessages
internal import Observability
internal import ServiceKit
internal import Storage

/// The work of the service: requests, streams and commands end up here.
///
/// A caller is identified and counted before anything is queued. The store's transaction takes values and returns values;
/// the news that follow from it are told after the commit.
final class MessageService: Sendable {
  /// The refused messages that a sender may have in a minute, however few others.
  private static let leastRefused = 60

  let store: MsgrStore
  let hub: StreamHub
  let places: StreamPlaces
  /// The pushes, or nil if nothing is pushed.
  let outbox: PushOutbox?
  let log: Log
  let authenticator: Authenticator
  private let passwords: PasswordVerifier
  private let registrations: RegistrationLimits
  private let refusals: RefusalReport
  private let sent: AttemptTable
  /// The messages that were refused by the store, of which a sender has as many as of others.
  private let refused: AttemptTable
  private let messagesPerMinute: Int
  private let randomBytes: @Sendable (Int) -> [UInt8]
  private let accepted: Counter

  init(_ context: ServiceContext, _ configuration: MsgrConfiguration) throws {
    store = MsgrStore(context, limits: configuration.store)
    outbox = try PushOutbox(context, configuration.push, store: store)
    log = context.log
    hub = StreamHub(streamsOfAccount: configuration.streams.ofAccount)
    places = StreamPlaces(configuration.streams)
    refusals = RefusalReport(context.log, context.metrics, clock: context.clock)
    registrations = RegistrationLimits(configuration.registrations, clock: context.clock)
    passwords = try PasswordVerifier(
      store, configuration, randomBytes: context.randomBytes, report: refusals,
      metrics: context.metrics)
    authenticator = Authenticator(store, passwords)
    sent = AttemptTable(span: .seconds(60), clock: context.clock)
    refused = AttemptTable(span: .seconds(60), size: 1 << 12, clock: context.clock)
    messagesPerMinute = configuration.messagesPerMinute
    randomBytes = context.randomBytes
    accepted = context.metrics.counter(
      "awd_msgr_messages_total", "Stored messages, including contact requests")
    context.metrics.gauge("awd_msgr_streams", "Open streams") { [hub] in Double(hub.count) }
    context.metrics.budget(named: "msgr-streams") { [places] in places.statistics }
  }

  // MARK: - Accounts

  /// Makes an account and binds the device.
  func register(
    _ name: UserName, _ password: Password, _ device: DeviceID, from network: ClientNetwork?
  ) async throws -> BearerToken {
    do {
      // Looked up before, as the hash of a password takes long, and again when it is stored.
      guard try await store.passwordHash(of: name) == nil else { throw RequestRefusal.forbidden }
      try registrations.begin(in: network)
      let hash: PasswordHash
      do {
        hash = try await passwords.hash(password, for: network)
      } catch {
        registrations.takeBack(in: network)
        throw error
      }
      let token = BearerToken(randomBytes(32))
      do {
        hub.end(try await store.register(name, hash, device: (device, token.hash)))
      } catch let failure where !(failure is RequestRefusal) {
        registrations.takeBack(in: network)
        throw failure
      }
      passwords.remember(password, of: name, hash, in: network)
      return token
    } catch {
      refusals.note(error, .registration, of: name, from: network)
      throw error
    }
  }

  /// Binds the device to the account.
  func login(_ credentials: Credentials, _ device: DeviceID) async throws -> BearerToken {
    let token = BearerToken(randomBytes(32))
    let ended = try await authenticator.perform(as: credentials) { caller in
      try await store.login(caller, device: device, token: token.hash)
    }
    hub.end(ended)
    return token
  }

  /// Ends the token and unbinds its device.
  func logout(_ credentials: Credentials) async throws {
    hub.end(try await authenticator.perform(as: credentials, store.logout))
  }

  /// Deletes the account, whose password is needed even beside a token.
  func delete(
    _ credentials: Credentials, _ password: Password, from network: ClientNetwork?
  ) async throws {
    let name =
      switch credentials {
      case .password(let name, _, _): name
      case .token: try await authenticator.perform(as: credentials, store.name)
      }
    let ended = try await authenticator.perform(
      as: .password(name, password, from: network), store.delete)
    hub.end(ended)
  }

  // MARK: - Contacts

  /// Returns the friends' names, sorted.
  func friends(of credentials: Credentials) async throws -> [UserName] {
    try await authenticator.perform(as: credentials, store.friends)
  }

  /// Asks a user to become a friend, or agrees.
  func add(_ friend: UserName, by credentials: Credentials) async throws -> Friendship {
    try await authenticator.perform(as: credentials) { caller in
      // Only a new request counts, which the transaction finds out.
      let wait = sent.count(caller.name, upTo: messagesPerMinute)
      var isCounted = wait == nil
      defer { if isCounted { sent.uncount(caller.name) } }
      let (friendship, request) = try await store.add(
        friend, by: caller, streaming: hub.devices(of: friend), wait: wait)
      if let request {
        isCounted = false
        await announce(request, to: friend)
      }
      return friendship
    }
  }

  /// Ends a friendship.
  func unfriend(_ friend: UserName, by credentials: Credentials) async throws {
    try await authenticator.perform(as: credentials) { try await store.unfriend(friend, by: $0) }
  }

  /// Blocks a user.
  func block(_ user: UserName, by credentials: Credentials) async throws {
    try await authenticator.perform(as: credentials) { try await store.block(user, by: $0) }
  }

  /// Unblocks a user.
  func unblock(_ user: UserName, by credentials: Credentials) async throws {
    try await authenticator.perform(as: credentials) { try await store.unblock(user, by: $0) }
  }

  // MARK: - Messages

  /// Sends a message.
  ///
  /// - Returns: the identifier of the message, which is on the disk.
  func send(
    _ text: MessageText, to recipient: UserName, by credentials: Credentials
  ) async throws -> MessageID {
    try await authenticator.perform(as: credentials) { caller in
      guard text.fitsIntoPush(from: caller.name) else { throw RequestRefusal.tooLong }
      let wait =
        refused.wait(for: caller.name, upTo: max(messagesPerMinute, Self.leastRefused))
        ?? sent.count(caller.name, upTo: messagesPerMinute)
      if let wait { throw RequestRefusal.tooMany(retryAfter: wait) }
      let delivery: Delivery
      do {
        delivery = try await store.send(
          text, to: recipient, by: caller, streaming: hub.devices(of: recipient))
      } catch {
        sent.uncount(caller.name)
        // Whoever guesses names keeps the store's writer busy as well.
        if error is RequestRefusal { _ = refused.count(caller.name, upTo: .max) }
        throw error
      }
      if delivery.isStored { await announce(delivery, to: recipient) }
      return delivery.id
    }
  }

  /// Returns the messages after a position.
  func inbox(of credentials: Credentials, since position: MessageID) async throws -> [Message] {
    try await authenticator.perform(as: credentials) { caller in
      try await store.inbox(of: caller, since: position)
    }
  }

  /// Tells streams and outbox of a message that was stored.
  ///
  /// A stream that brings the message has begun before it. A device whose stream has ended since its push was held has
  /// no such stream, and its push is made due.
  private func announce(_ delivery: Delivery, to name: UserName) async {
    accepted.add()
    bringNews(to: name)
    let left = delivery.held.filter { device in
      hub.firstStart(of: device).map { $0 >= delivery.id } ?? true
    }
    if !left.isEmpty {
      do {
        try await store.releasePushes(to: left, upTo: delivery.id)
      } catch {
        // A push is held for a while only.
        log.warning("the pushes that a stream leaves can't be released", ["cause": "\(error)"])
      }
    }
    outbox?.wake()
  }

  // MARK: - Background

  /// Deletes messages and tokens that are too old, and closes streams whose tokens another process has ended.
  func tidy() async throws {
    while try await store.expire() {}
    let tokens = hub.tokens
    guard !tokens.isEmpty else { return }
    hub.end(try await store.ended(of: tokens))
    try await store.noteUse(of: tokens)
  }
}
