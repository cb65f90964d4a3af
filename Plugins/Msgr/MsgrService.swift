package import Routing
package import ServiceKit

internal import Budgets
internal import Cluster
internal import HTTPProtocol
internal import Observability
internal import WebApps

/// Msgr: accounts, contacts and messages between them, pushed to phones or streamed.
///
/// Passwords and tokens are sent as they are, so it is confidential.
package struct MsgrService: Migrating, Commanding, Confidential, Running, SpeakingDialects,
  Presenting
{
  /// `msgr`.
  package static let name = "msgr"
  /// The migrations of its tables.
  package static let migrations = MsgrStore.migrations
  /// `awd user …`, `awd push test` and `awd token new`.
  package static let commands: [any Command.Type] = [
    UserListCommand.self, UserAddCommand.self, UserPasswordCommand.self, UserRemoveCommand.self,
    PushTestCommand.self, TokenNewCommand.self, TopicListCommand.self, TopicAccessCommand.self,
    TopicRemoveCommand.self,
    UserShowCommand.self, UserDisableCommand.self, UserEnableCommand.self, UserExportCommand.self,
    TokenListCommand.self, TokenRevokeCommand.self,
  ]

  /// The interval at which messages and tokens that are too old are deleted.
  private static let tidyInterval = Duration.seconds(60)

  let service: MessageService
  let topics: TopicService
  private let configuration: MsgrConfiguration
  private let routes: MsgrRoutes
  /// The page for people, or nil if there is none.
  private let webApp: WebApp?

  /// Makes the service.
  ///
  /// - Parameters:
  ///   - context: the store, and all else that the service uses.
  ///   - configuration: the section `[msgr]`.
  package init(_ context: ServiceContext, _ configuration: MsgrConfiguration) async throws {
    service = try MessageService(context, configuration)
    topics = try TopicService(service, context, configuration)
    self.configuration = configuration
    webApp =
      configuration.hasWebApp
      ? MsgrWebApp.files(
        serverName: context.serverName, signup: configuration.signup,
        minimumPassword: configuration.minimumPassword, clock: context.clock) : nil
    routes = MsgrRoutes(
      service: service, topics: topics,
      gotify: configuration.hasGotify
        ? GotifyRoutes(
          service: service, topics: topics, streamPing: configuration.streamPing,
          ordinaryBodyLimit: context.bodyLimit)
        : nil,
      streamPing: configuration.streamPing,
      minimumPassword: configuration.minimumPassword,
      bodyLimit: context.bodyLimit,
      origins: Self.originPolicy(context, configuration),
      description: ServiceDescription(clock: context.clock))
  }

  /// The page for people, if there is one.
  package var cards: [ServiceCard] {
    guard webApp != nil else { return [] }
    let sentence = "Read and send messages, and follow topics, in this browser."
    return [ServiceCard("Msgr", sentence, path: "/msgr/")]
  }

  /// Makes the policy, which logs an origin that is refused, some of them at a time.
  private static func originPolicy(
    _ context: ServiceContext, _ configuration: MsgrConfiguration
  ) -> OriginPolicy {
    let lines = AttemptTable(span: .seconds(600), size: 64, clock: context.clock)
    return OriginPolicy(
      listed: Set(configuration.origins), own: context.publicURL.flatMap(WebOrigin.init)
    ) { [log = context.log] origin, host in
      guard lines.count(0, upTo: 20) == nil, lines.count(origin, upTo: 1) == nil else { return }
      log.warning(
        "a page's request was refused for its origin: if the page is this server's, set public_url "
          + "or let the proxy pass Host on; if it is another's that may call, list it in origins",
        ["origin": origin, "host": host])
    }
  }

  /// Registers its requests, whose responses are JSON.
  package func register(on router: inout Router) {
    routes.register(on: &router)
    if let webApp {
      router.register(webApp)
    }
  }

  /// Returns the routes of ntfy's and Gotify's clients, which may have hosts of their own.
  package func dialectRouters() -> [Router] {
    var routers: [Router] = []
    if topics.isOn {
      var router = dialectRouter { NtfyError(answering: $0).response }
      if topics.configuration.hasCORS { router.errorFields.append(NtfyRoutes.allowOrigin, "*") }
      NtfyRoutes(topics: topics, log: service.log).register(on: &router)
      routers.append(router)
    }
    if let gotify = routes.gotify {
      var router = dialectRouter { GotifyError(answering: $0).response }
      gotify.register(on: &router, isAlone: !router.hosts.isEmpty)
      routers.append(router)
    }
    return routers
  }

  /// Makes a router without routes.
  ///
  /// - Parameter refusing: makes the response to a request that no handler gets, in the dialect's form.
  private func dialectRouter(
    refusing: @escaping @Sendable (HTTPError) -> Response
  ) -> Router {
    var router = Router(service: "msgr-dialects", hosts: configuration.topics.hosts)
    router.optionsFields = nil
    router.hidesPaths = true
    router.errorStyle = .own(refusing)
    return router
  }

  /// Deletes messages and tokens that are too old, until cancelled.
  package func run() async throws {
    // Work that fails is tried again by itself, and ends no other work.
    await withTaskGroup { group in
      group.addTask { [link = service.link] in await link.run() }
      group.addTask { [topics] in await topics.run() }
      await Self.repeatWork(
        every: Self.tidyInterval, orLog: "old rows can't be deleted yet", in: service.log
      ) {
        try await service.tidy()
        try await service.store.forgetPublications()
        try await topics.tidy()
      }
      group.cancelAll()
    }
  }
}

extension MsgrService: InvitingService {
  /// False: an account has no uid.
  package static let knowsUIDs = false

  /// Keeps an invitation.
  ///
  /// - Parameter configuration: the section `[msgr]`.
  /// - Returns: a note if accounts don't need invitations.
  package static func add(
    _ invitation: Invitation, _ context: ServiceContext, _ configuration: MsgrConfiguration
  ) async throws -> String? {
    let store = MsgrStore(context, configuration)
    try await store.addInvitation(
      InvitationHash(ofToken: invitation.token.utf8), uses: invitation.uses,
      expires: invitation.expires)
    return configuration.signup == .invite
      ? nil : "not needed at the moment: signup is \(configuration.signup.rawValue)"
  }
}
