internal import ApptimistProtocol
internal import ApptimistSession
internal import Cryptography
internal import Observability
internal import ServiceKit
internal import Synchronization
internal import Time

/// The parts of the service behind its sessions.
final class Backend: Sendable {
  let keys: ServiceKeys
  let store: ApptimistStore
  let hub: SessionHub
  let clients: ClientAccounting
  let metrics: ApptimistMetrics
  let ephemeralKeys: EphemeralKeys
  let accounts: AccountService
  let messages: MessageDelivery
  let files: FileService
  /// The URI that devices are redirected to when the server stops, or nil.
  let publicURI: String?
  /// The longest message that a device may send once it has logged in, in bytes.
  let longestMessage: Int
  let log: Log
  private let clock: @Sendable () -> Timestamp
  private let lastSession = Atomic<UInt64>(0)

  init(
    _ context: ServiceContext, _ configuration: ApptimistConfiguration, keys: ServiceKeys
  ) throws {
    self.keys = keys
    store = ApptimistStore(store: context.store, limits: configuration.store)
    hub = SessionHub(limit: configuration.sessions)
    clients = ClientAccounting(configuration.clients, clock: context.clock)
    metrics = ApptimistMetrics(context.metrics, hub: hub, clients: clients)
    ephemeralKeys = EphemeralKeys(
      store: store, keys: keys, age: configuration.ephemeralKeyAge, clock: context.clock)
    accounts = AccountService(
      store: store, identity: try IdentityProvider(configuration, clock: context.clock),
      clients: clients, log: context.log, clock: context.clock)
    let directory = AccountDirectory(store)
    messages = MessageDelivery(
      store: store, directory: directory, fanOut: ForumFanOut(keys: keys), hub: hub,
      clients: clients, metrics: metrics)
    files = FileService(
      store, directory, keys: keys,
      locks: LockTable(lease: configuration.lockLease, limit: configuration.locks))
    // `http` becomes `ws`, and `https` `wss`.
    publicURI = context.publicURL.map { "ws" + $0.dropFirst("http".count) + configuration.path }
    longestMessage = configuration.session.frame.message
    log = context.log
    clock = context.clock
  }

  /// Makes the number of a new session.
  func newSession() -> SessionID {
    SessionID(number: lastSession.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  /// Forgets the session of a user.
  func ended(_ session: SessionID, of user: EncryptionPublicKey) {
    hub.leave(session, of: user)
    files.ended(session)
  }

  /// Deletes expired ephemeral keys and invitations.
  func deleteExpired() async throws {
    while try await store.expire(at: clock()) { try Task.checkCancellation() }
  }
}
