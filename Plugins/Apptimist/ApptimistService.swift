internal import ApptimistProtocol
public import Configuration
internal import Cryptography
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
public import Routing
public import CommandLine
public import ServiceKit
public import Storage

/// Apptimist: encrypted messages between users, in forums too, with vouchers and files.
public struct ApptimistService: Service {
  /// `apptimist`.
  public static let name = "apptimist"
  /// The migrations of its tables.
  public static let migrations = ApptimistStore.migrations
  /// The epoch and the acknowledgements, as positions are given again that were given after the backup.
  public static let unrestoredTables: [StaticString] = ["apptimist_epoch", "apptimist_devices"]
  /// Puts all messages into the mailboxes that they are for.
  public static func finish(
    _ store: Store, _ configuration: ConfigurationSection
  ) async throws {
    try await ApptimistStore(store: store, limits: ApptimistConfiguration(configuration).store)
      .flushAll()
  }
  /// `awd keys …` and `awd wallet chat`.
  public static let commands: [any Command.Type] = [
    KeysShowCommand.self, KeysNewCommand.self, WalletChatCommand.self,
  ]

  /// The time between two deletions of expired keys and invitations.
  private static let expiryInterval = Duration.seconds(60)

  private let configuration: ApptimistConfiguration
  private let backend: Backend
  private let handshake: SessionHandshake

  /// Reads every key of `[apptimist]`, and records what is wrong with it.
  public static func validate(_ configuration: ConfigurationSection) {
    _ = ApptimistConfiguration(configuration)
  }

  /// Checks the keys, and who may make an account.
  ///
  /// - Parameters:
  ///   - configuration: the section `[apptimist]`.
  ///   - isExposed: whether other machines reach the server.
  public static func check(
    _ configuration: ConfigurationSection, isExposed: Bool
  ) async -> [ContentFinding] {
    ApptimistCheck.findings(ApptimistConfiguration(configuration), isExposed: isExposed)
  }

  /// The file of the service's keys.
  ///
  /// - Parameter configuration: the section `[apptimist]`.
  /// - Returns: its path, as `keys`.
  public static func keyFiles(_ configuration: ConfigurationSection) -> [String: String] {
    ["keys": ApptimistConfiguration(configuration).keys]
  }

  /// Makes the service, and its keys if there are none.
  ///
  /// - Parameter context: the store, the configuration and all else that the service uses.
  /// - Throws: ``KeyFile/Failure`` if the keys can be neither read nor made.
  public init(_ context: ServiceContext) async throws {
    configuration = ApptimistConfiguration(context.configuration)
    let (keys, isNew) = try KeyFile(path: configuration.keys).open()
    if isNew { context.log.info("made the service's keys", ["file": configuration.keys]) }
    backend = try Backend(context, configuration, keys: keys)
    handshake = SessionHandshake(
      backend: backend, configuration: configuration,
      isSecureOutside: context.publicURL?.hasPrefix("https:") ?? false,
      randomBytes: context.randomBytes, clock: context.clock)
    context.log.info(
      "the service's key",
      [
        "encryption": keys.identity.encryptionKey.hex, "path": configuration.path,
        "identity": configuration.identity.rawValue,
      ])
  }

  /// Registers the sessions' WebSocket, and the document with the service's public keys.
  public func register(on router: inout Router) {
    router.webSocket(configuration.path) { [handshake] request, _ in
      try await handshake.accept(request)
    }
    let document = ServiceDocument(
      service: configuration.name, identity: backend.keys.identity,
      signedWith: backend.keys.authentication)
    router.get("\(configuration.path)/service.json") { _, _ in
      var fields = HeaderFields()
      fields.append(.contentType, "application/json")
      fields.append(.cacheControl, "no-cache")
      fields.append(FieldName("Access-Control-Allow-Origin"), "*")
      return Response(.ok, fields: fields, body: .array(try document.json()))
    }
  }

  /// Examples that show that the service is there, and two devices that talk where anybody may make an account.
  public func examples(at url: String) -> [ServiceExample] {
    let keys = ServiceExample(
      "200, the keys that Apptimist's devices need",
      "curl -i '\(url)\(configuration.path)/service.json'")
    guard configuration.identity == .open else { return [keys] }
    let program = CommandLine.arguments.first ?? "awd"
    let chat = "\(program) wallet chat --server 'ws\(url.dropFirst(4))\(configuration.path)'"
    return [
      keys,
      ServiceExample("bert, a friend to talk to", "\(chat) --folder bert --name bert"),
      ServiceExample(
        "anna, who talks to him: each line is a message",
        "\(chat) --folder anna --name anna --with bert"),
    ]
  }

  /// Hears other nodes, and deletes expired ephemeral keys and invitations, until cancelled.
  public func run() async throws {
    try await withThrowingTaskGroup { group in
      if let nodes = backend.nodes { group.addTask { await nodes.run() } }
      while !Task.isCancelled {
        try await backend.deleteExpired()
        try? await Task.sleep(for: Self.expiryInterval)
      }
      group.cancelAll()
    }
  }
}
