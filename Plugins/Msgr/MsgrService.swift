public import Configuration
internal import Observability
public import Routing
public import ServiceKit
public import Storage
internal import Time

/// Msgr: accounts, contacts and messages between them, pushed to phones or streamed.
public struct MsgrService: Service {
  /// `msgr`.
  public static let name = "msgr"
  /// The migrations of its tables.
  public static let migrations = MsgrStore.migrations
  /// `awd user …`, `awd push test` and `awd token new`.
  public static let commands: [any Command.Type] = [
    UserListCommand.self, UserAddCommand.self, UserPasswordCommand.self, UserRemoveCommand.self,
    PushTestCommand.self, TokenNewCommand.self,
  ]

  /// True, as passwords and tokens are sent as they are.
  public static let needsConfidentiality = true

  /// The interval at which messages and tokens that are too old are deleted.
  private static let tidyInterval = Duration.seconds(60)

  let service: MessageService
  private let routes: MsgrRoutes
  /// The page for people, or nil if there is none.
  private let webApp: WebApp?

  /// Reads every key of `[msgr]`, and so records what is wrong with it.
  public static func validate(_ configuration: ConfigurationSection) {
    _ = MsgrConfiguration(configuration)
  }

  /// Checks the keys and certificates that pushes are made with.
  ///
  /// - Parameters:
  ///   - configuration: the section `[msgr]`, validated before.
  ///   - isExposed: whether other machines reach the server.
  /// - Returns: a finding for each.
  public static func check(
    _ configuration: ConfigurationSection, isExposed: Bool
  ) async -> [ContentFinding] {
    let configuration = MsgrConfiguration(configuration)
    return configuration.push.findings(isExposed: isExposed, at: .now())
      + configuration.webPush.findings
  }

  /// Returns the file of the key that subscriptions of browsers are bound to.
  public static func keyFiles(_ configuration: ConfigurationSection) -> [String: String] {
    ["web_push.key": MsgrConfiguration(configuration).webPush.key]
  }

  /// Makes the service.
  public init(_ context: ServiceContext) async throws {
    let configuration = MsgrConfiguration(context.configuration)
    service = try MessageService(context, configuration)
    webApp = configuration.hasWebApp ? WebApp(clock: context.clock) : nil
    routes = MsgrRoutes(
      service: service, streamPing: configuration.streamPing,
      minimumPassword: configuration.minimumPassword,
      origins: OriginPolicy(listed: Set(configuration.origins)),
      description: ServiceDescription(clock: context.clock))
  }

  /// Registers its requests, whose responses are JSON.
  public func register(on router: inout Router) {
    routes.register(on: &router)
    service.outbox?.register(on: &router)
    webApp?.register(on: &router)
  }

  /// Pushes, and deletes messages and tokens that are too old, until cancelled.
  public func run() async throws {
    try await withThrowingTaskGroup { group in
      if let outbox = service.outbox { group.addTask { try await outbox.run() } }
      if service.store.isShared { group.addTask { await service.hearNodes() } }
      group.addTask { [browsers = service.browsers] in try await browsers.run() }
      group.addTask {
        while !Task.isCancelled {
          try await service.tidy()
          try? await Task.sleep(for: Self.tidyInterval)
        }
      }
      // If one fails, the other is ended too.
      for try await _ in group {}
    }
  }
}
