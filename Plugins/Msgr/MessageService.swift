internal import HTTPProtocol
internal import Observability
internal import ServiceKit
internal import Storage

/// What the service does, whoever asks for it: requests, streams and commands end up here.
final class MessageService: Sendable {
  let store: MsgrStore
  let hub: Hub
  let outbox: PushOutbox
  let log: Log
  private let authenticator: Authenticator
  private let randomBytes: @Sendable (Int) -> [UInt8]
  private let accepted: Counter

  init(_ context: ServiceContext, _ configuration: MsgrConfiguration) throws {
    let hub = Hub()
    store = MsgrStore(store: context.store, limits: configuration.store, clock: context.clock)
    self.hub = hub
    outbox = try PushOutbox(context, configuration.push, store: store)
    log = context.log
    authenticator = try Authenticator(
      configuration, clock: context.clock, randomBytes: context.randomBytes,
      metrics: context.metrics)
    randomBytes = context.randomBytes
    accepted = context.metrics.counter(
      "awd_msgr_messages_total", "Stored messages, including contact requests")
    context.metrics.gauge("awd_msgr_streams", "Open streams") { Double(hub.count) }
  }

  // MARK: - Accounts

  /// Makes an account and binds the device.
  func register(
    _ name: UserName, _ password: Password, _ device: DeviceID
  ) async throws -> BearerToken {
    // Asked before, as the hash of a password takes long; and again when it is stored.
    guard try await store.passwordHash(of: name) == nil else { throw Refusal.forbidden }
    let hash = try await authenticator.hash(password, of: name)
    let token = BearerToken(randomBytes(32))
    let ended = try await store.register(name, hash, device: (device, token.hash))
    hub.end(ended)
    return token
  }

  /// Binds the device to the account.
  func login(
    _ name: UserName, _ password: Password, _ device: DeviceID, from address: ClientAddress
  ) async throws -> BearerToken {
    let token = BearerToken(randomBytes(32))
    let ended = try await perform(as: .password(name, password), from: address) { caller in
      try await store.login(caller, device: device, token: token.hash)
    }
    hub.end(ended)
    return token
  }

  /// Ends the token and unbinds its device.
  func logout(_ credentials: Credentials, from address: ClientAddress) async throws {
    hub.end(try await perform(as: credentials, from: address, store.logout))
  }

  /// Deletes the account; its password is needed even beside a token.
  func delete(
    _ credentials: Credentials, _ password: Password, from address: ClientAddress
  ) async throws {
    let name: UserName
    switch credentials {
    case .password(let claimed, _): name = claimed
    case .token(let token, let claimed):
      name = try await store.identity(of: token, claiming: claimed).name
    }
    hub.end(try await perform(as: .password(name, password), from: address, store.delete))
  }

  // MARK: - Contacts

  /// The friends' names, sorted.
  func friends(of credentials: Credentials, from address: ClientAddress) async throws -> [UserName]
  {
    try await perform(as: credentials, from: address, store.friends)
  }

  /// Asks a user to become a friend, or agrees.
  func add(
    _ friend: UserName, by credentials: Credentials, from address: ClientAddress
  ) async throws -> Friendship {
    let (friendship, isNew) = try await perform(as: credentials, from: address) { caller in
      try await store.add(
        friend, by: caller, isStreaming: hub.isStreaming, mayAsk: authenticator.countMessage)
    }
    if isNew { announce(to: friend) }
    return friendship
  }

  /// Ends a friendship.
  func unfriend(
    _ friend: UserName, by credentials: Credentials, from address: ClientAddress
  ) async throws {
    try await perform(as: credentials, from: address) { try await store.unfriend(friend, by: $0) }
  }

  /// Lets nothing of a user through any more.
  func block(
    _ user: UserName, by credentials: Credentials, from address: ClientAddress
  ) async throws {
    try await perform(as: credentials, from: address) { try await store.block(user, by: $0) }
  }

  /// Lets a user through again.
  func unblock(
    _ user: UserName, by credentials: Credentials, from address: ClientAddress
  ) async throws {
    try await perform(as: credentials, from: address) { try await store.unblock(user, by: $0) }
  }

  // MARK: - Messages

  /// Sends a message; what it returns is on the disk.
  func send(
    _ text: MessageText, to recipient: UserName, by credentials: Credentials,
    from address: ClientAddress
  ) async throws -> MessageID {
    let (id, isNew) = try await perform(as: credentials, from: address) { caller in
      try await store.send(
        text, to: recipient, by: caller, isStreaming: hub.isStreaming,
        maySend: authenticator.countMessage)
    }
    if isNew { announce(to: recipient) }
    return id
  }

  /// The messages behind a position.
  func inbox(
    of credentials: Credentials, since position: MessageID, from address: ClientAddress
  ) async throws -> [Message] {
    try await perform(as: credentials, from: address) { caller in
      try await store.inbox(of: caller, since: position)
    }
  }

  /// Whose a stream with a token is, and the message behind which it begins.
  ///
  /// - Parameter position: the message that the peer has come to; nil: only what is new concerns
  ///   it.
  func beginStream(
    _ token: TokenHash, since position: MessageID?
  ) async throws -> (Identity, start: MessageID) {
    guard
      case .done(let (identity, last)) =
        try await store.beginStream(of: .token(token, claiming: nil))
    else { throw Refusal.forbidden }
    if let position { try await store.noteSeen(upTo: position, by: identity.name) }
    return (identity, position ?? last)
  }

  private func announce(to name: UserName) {
    accepted.add()
    hub.wake(name)
    outbox.wake()
  }

  private func perform<Value: Sendable>(
    as credentials: Credentials, from address: ClientAddress,
    _ act: (Caller) async throws -> Outcome<Value>
  ) async throws -> Value {
    try await authenticator.perform(as: credentials, from: address, in: store, act)
  }

  // MARK: - Background

  /// Deletes what is too old, and closes streams whose tokens another process has ended.
  func tidy() async throws {
    while try await store.expire() {}
    let tokens = hub.tokens
    guard !tokens.isEmpty else { return }
    hub.end(try await store.ended(of: tokens))
    try await store.noteUse(of: tokens)
  }
}
