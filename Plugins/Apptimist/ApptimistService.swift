package import Routing
package import ServiceKit
package import Storage

internal import ApptimistProtocol
internal import Cluster
internal import Cryptography
internal import Ethereum
internal import Formats
internal import HTTPProtocol
internal import Observability
internal import Platform
internal import Push
internal import WebApps

/// Apptimist: encrypted messages between users, in forums too, with vouchers and files.
package struct ApptimistService: Migrating, Commanding, Demonstrating, Presenting, Running {
  /// `apptimist`.
  package static let name = "apptimist"
  /// The migrations of its tables.
  package static let migrations = ApptimistStore.migrations
  /// `awd keys …` and `awd wallet chat`.
  package static let commands: [any Command.Type] = [
    KeysShowCommand.self, KeysNewCommand.self, WalletChatCommand.self,
    AccountListCommand.self, AccountShowCommand.self, AccountDisableCommand.self,
    AccountEnableCommand.self, AccountRemoveCommand.self, AccountExportCommand.self,
    ForumListCommand.self, ForumShowCommand.self, ForumRemoveCommand.self,
  ]

  private let configuration: ApptimistConfiguration
  private let services: SessionUseCases
  private let handshake: SessionHandshake
  private let clock: @Sendable () -> Timestamp
  /// The public key of pushes to browsers in hexadecimal digits; nil where nobody is woken.
  private let webKey: String?
  /// The page for people, or nil if there is none.
  private let webApp: WebApp?

  /// Makes the service, and its keys if there are none.
  ///
  /// - Parameters:
  ///   - context: the store, and all else that the service uses.
  ///   - configuration: the section `[apptimist]`.
  /// - Throws: ``KeyFile/Failure`` if the keys can be neither read nor made, or ``PushSetupError`` if that of pushes can't.
  package init(_ context: ServiceContext, _ configuration: ApptimistConfiguration) async throws {
    self.configuration = configuration
    clock = context.clock
    webApp =
      configuration.hasWebApp
      ? ApptimistWebApp.files(
        at: "\(configuration.path)/app", serverName: context.serverName, clock: context.clock) : nil
    let (keys, isNew) = try KeyFile(path: configuration.keys).open()
    if isNew { context.log.info("made the service's keys", ["file": configuration.keys]) }
    services = try SessionUseCases(context, configuration, keys: keys)
    webKey = services.wakes == nil ? nil : Hex.encode(try services.pushes.webKey().bytes)
    try await services.nodes?.registry.checkHistory()
    try await services.store.forgetSessions()
    handshake = SessionHandshake(
      services: services, configuration: configuration,
      isSecureOutside: context.publicURL?.hasPrefix("https:") ?? false,
      randomBytes: context.randomBytes, clock: context.clock)
    context.log.info(
      "the service's key",
      [
        "encryption": keys.identity.encryptionKey.hex, "path": configuration.path,
        "identity": configuration.identity.rawValue,
      ])
  }

  /// The app for people.
  package var cards: [ServiceCard] {
    guard webApp != nil else { return [] }
    return [
      ServiceCard(
        "Apptimist", "Write end-to-end encrypted messages and share files with people you know.",
        path: "\(configuration.path)/app/")
    ]
  }

  /// Registers the sessions' WebSocket, and the document with the service's public keys.
  package func register(on router: inout Router) {
    router.webSocket(configuration.path) { [handshake] request, _ in
      try await handshake.accept(request)
    }
    let document = ServiceDocument(
      service: configuration.name, identity: services.keys.identity,
      signedWith: services.keys.authentication, push: services.pushNames,
      pushKey: webKey)
    router.get("\(configuration.path)/service.json") { _, _ in
      var fields = HeaderFields()
      fields.append(.contentType, "application/json")
      fields.append(.cacheControl, "no-cache")
      fields.append(FieldName("Access-Control-Allow-Origin"), "*")
      return Response(.ok, fields: fields, body: .array(try document.json()))
    }
    let link = "\(configuration.path)/link/{slot}/{part}"
    router.on([.put], link, bodyLimit: 4_096) {
      [store = services.store, clock] request, parameters in
      let place = try LinkPlace(parameters)
      guard !request.body.isEmpty else { throw HTTPError(.badRequest, "expected 1 to 4,096 bytes") }
      do {
        try await store.keep(
          request.body, at: place, from: request.origin.client?.description ?? "",
          of: request.origin.client?.site ?? "", at: clock())
      } catch let refusal as LinkRefusal {
        switch refusal {
        case .taken: throw HTTPError(.conflict, "it was put before")
        case .tooMany:
          throw HTTPError(.tooManyRequests, "too many devices are being linked", retryAfter: 600)
        }
      }
      return Response(.created)
    }
    // No HEAD: reading a part removes it.
    router.on([.get], link) { [store = services.store, clock] _, parameters in
      guard let content = try await store.consumeLink(at: try LinkPlace(parameters), at: clock())
      else { throw HTTPError(.notFound) }
      var fields = HeaderFields()
      fields.append(.contentType, "application/octet-stream")
      fields.append(.cacheControl, "no-store")
      return Response(.ok, fields: fields, body: .array(content))
    }
    if case .siwe(let client) = services.accounts.identity {
      router.post("\(configuration.path)/siwe", bodyLimit: 16 << 10) { [services] request, _ in
        let network = request.origin.client
        var response = try await client.respond(to: request.body, from: network) { uid in
          try await services.store.hasSigned(uid: uid)
        } mayQuery: {
          services.clients.may(.askChain, network)
        }
        response.fields.append(.cacheControl, "no-store")
        return response
      }
    }
    guard let webApp else { return }
    router.register(webApp)
    router.get("\(configuration.path)/") { [path = configuration.path] _, _ in
      var response = Response(.seeOther)
      response.fields.append(.location, "\(path)/app/")
      return response
    }
    router.get("\(configuration.path)/app/settings.json") {
      [configuration, services] _, _ in
      var oidc: [String: String] = [:]
      if case .oidc(let client) = services.accounts.identity { oidc = await client.settings() }
      let isWallets = configuration.identity == .siwe
      var response = try Response(
        .ok,
        json: AppSettings(
          identity: configuration.identity.rawValue, authorize: oidc["authorize"],
          audience: oidc["audience"], claim: oidc["claim"],
          chains: isWallets ? configuration.siwe.chains.map(\.number) : nil))
      response.fields.append(.cacheControl, "no-cache")
      return response
    }
  }

  /// Examples that show that the service is there, and two devices that talk where anybody may make an account.
  package func examples(at url: String) -> [ServiceExample] {
    let keys = ServiceExample(
      "200, the keys that Apptimist's devices need",
      "curl -i '\(url)\(configuration.path)/service.json'")
    guard configuration.identity == .open else { return [keys] }
    let program = CommandLine.arguments.first ?? "awd"
    let chat = "\(program) wallet chat --server 'ws\(url.dropFirst(4))\(configuration.path)'"
    return [
      keys,
      ServiceExample("bert, a friend to talk to", "\(chat) --folder var/bert --name bert"),
      ServiceExample(
        "anna, who talks to him: each line is a message",
        "\(chat) --folder var/anna --name anna --with bert"),
    ]
  }

  /// Receives notifications of other nodes, deletes what has expired, and checks the readers of gated forums, until cancelled.
  package func run() async throws {
    // Failed work is tried again, and doesn't end the rest.
    await withTaskGroup { group in
      if let link = services.nodes?.link { group.addTask { await link.run() } }
      group.addTask { [services, pause = min(.seconds(60), configuration.gateInterval)] in
        await Self.repeatWork(
          every: pause, orLog: "token gates could not be re-checked; retrying", in: services.log,
          services.gates.recheckGates)
      }
      group.addTask { [services] in
        await Self.repeatWork(
          every: .seconds(2), orLog: "accounts could not be compared with the store; retrying",
          in: services.log, services.applyForeignChanges)
      }
      await Self.repeatWork(
        every: .seconds(60), orLog: "expired rows could not be deleted; retrying", in: services.log,
        services.deleteExpired)
      group.cancelAll()
    }
  }
}

extension LinkPlace {
  /// Reads the parts of a path.
  ///
  /// - Throws: 404 if it is none that there can be.
  fileprivate init(_ parameters: RouteParameters) throws(HTTPError) {
    guard let slot = parameters.text("slot"), slot.utf8.count == 32,
      slot.utf8.allSatisfy("0123456789abcdef".utf8.contains),
      let part = ["1", "2"].firstIndex(of: parameters.text("part"))
    else { throw HTTPError(.notFound) }
    self.slot = slot
    self.part = part + 1
  }
}

/// The facts that the web app needs before there is an account.
private struct AppSettings: Encodable {
  let identity: String
  let authorize: String?
  let audience: String?
  let claim: String?
  let chains: [Int64]?
}

extension ApptimistService: InvitingService {
  /// True: identity providers know users by their uids.
  package static let knowsUIDs = true

  /// Keeps an invitation.
  ///
  /// - Parameter configuration: the section `[apptimist]`.
  /// - Returns: a note if accounts don't need invitations.
  package static func add(
    _ invitation: Invitation, _ context: ServiceContext, _ configuration: ApptimistConfiguration
  ) async throws -> String? {
    let store = ApptimistStore(store: context.store, limits: configuration.store)
    try await store.addInvitation(
      InvitationHash(ofToken: invitation.token.utf8), uid: invitation.uid,
      uses: invitation.uses, expires: invitation.expires)
    return configuration.identity == .invite
      ? nil : "not needed at the moment: identity is \(configuration.identity.rawValue)"
  }
}
