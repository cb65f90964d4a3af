internal import Push
package import Routing
package import ServiceKit
package import Storage
internal import Platform

/// A push server of WalletConnect's kind: wallets register the addresses of their phones, and its relay has messages pushed.
///
/// Addresses and tokens are sent as they are, so it is confidential.
package struct PushServerService: Migrating, Confidential, Running {
  /// `pushserver`.
  package static let name = "pushserver"
  /// False, as it needs the relay's key and the server's URL.
  package static let isOnByDefault = false
  /// The migrations of its tables.
  package static let migrations = PushServerStore.migrations

  private let context: ServiceContext
  private let store: PushServerStore
  let routes: PushServerRoutes
  private let clientAge: Duration
  private let unpushedAge: Duration

  /// Makes the service.
  ///
  /// - Parameters:
  ///   - context: the store, the pushes, and all else that the service uses.
  ///   - configuration: the section `[pushserver]`.
  package init(_ context: ServiceContext, _ configuration: PushServerConfiguration) async throws {
    self.context = context
    clientAge = configuration.clientAge
    unpushedAge = configuration.unpushedAge
    store = PushServerStore(
      store: context.store,
      queue: context.pushes.queue(of: Self.name, configuration.push, web: .off),
      clock: context.clock, life: configuration.life)
    routes = PushServerRoutes(context, configuration, store)
    try context.pushes.serve(store, store.queue)
  }

  /// Registers its requests, whose responses are JSON.
  package func register(on router: inout Router) { routes.register(on: &router) }

  /// Deletes expired messages and clients until it is cancelled.
  package func run() async throws {
    await Self.repeatWork(
      every: .seconds(60), orLog: "old rows can't be deleted yet", in: context.log, tidy)
  }

  /// Deletes expired messages and clients, and counts the clients.
  func tidy() async throws {
    let now = context.expiry()
    let count = try await store.tidy(
      idle: now - clientAge, unpushed: now - min(clientAge, unpushedAge),
      stale: now - RelayProof.memory)
    routes.clients.withLock { $0 = count }
  }
}
