public import Configuration
internal import Glibc
internal import HTTPProtocol
internal import Observability
public import ServiceKit
public import Storage
internal import Time

/// Serves signed TokenScripts to wallets: a repository of files, indexed by the contracts that they
/// describe.
public struct TokenScriptService: Service {
  /// `tokenscript`.
  public static let name = "tokenscript"
  /// `awd repo …` and `awd wallet fetch`.
  public static var commands: [any Command.Type] {
    [
      RepositoryListCommand.self, RepositoryVerifyCommand.self, RepositorySignCommand.self,
      RepositoryGoneCommand.self, WalletFetchCommand.self,
    ]
  }
  /// The tables of the index and of what is remembered.
  public static var migrations: [Migration] { ContractStore.migrations }

  /// Makes the indexes.
  let indexer: RepositoryIndexer
  private let responder: RepositoryResponder
  private let listing: IndexListing
  private let verification: VerificationResponder
  private let repository: String
  private let log: Log
  private let durations: Observability.Histogram
  private let isDemo: Bool
  private let host: String?
  private let operatorPages: [PageLink]

  /// Reads every key of the section.
  ///
  /// - Parameter configuration: the section `[tokenscript]`; records problems by itself.
  public static func validate(_ configuration: ConfigurationSection) {
    _ = TokenScriptConfiguration(configuration)
  }

  /// Looks at the repository as `awd serve` would, every file anew.
  ///
  /// - Parameters:
  ///   - configuration: the section `[tokenscript]`.
  ///   - isExposed: whether other machines reach the server, which changes nothing.
  /// - Returns: the sum, refused files, and what is odd.
  public static func check(
    _ configuration: ConfigurationSection, isExposed: Bool
  ) async -> [ContentFinding] {
    await RepositoryCheck.findings(TokenScriptConfiguration(configuration))
  }

  /// The repository and the schemas, which are kept as files beside the store.
  ///
  /// - Parameter configuration: the section `[tokenscript]`.
  public static func contentFolders(_ configuration: ConfigurationSection) -> [String] {
    let configuration = TokenScriptConfiguration(configuration)
    return [configuration.repository, configuration.schemas]
  }

  /// Indexes the repository for the first time.
  ///
  /// - Parameter context: the section `[tokenscript]`, the store, and where to tell what is refused.
  /// - Throws: what keeps the repository, the schemas or the roots from being read.
  public init(_ context: ServiceContext) async throws {
    let configuration = TokenScriptConfiguration(context.configuration)
    let demo =
      configuration.isRepositoryConfigured ? nil : DemoRepository(dataFolder: context.dataFolder)
    if let demo {
      try await WorkerThreads.run { [log = context.log, now = context.clock().seconds] in
        try demo.make(now: now, log: log)
      }
    }
    isDemo = demo?.isThere ?? false
    host = context.hosts.first?.description
    operatorPages = context.operatorPages
    let fields = AnswerFields(dependsOnClient: !configuration.clients.isEmpty)
    let published = Published(ContractIndex.empty)
    let verification = Published(FileVerification())
    indexer = RepositoryIndexer(
      configuration, fields, published, verification, store: ContractStore(context.store),
      log: context.log,
      clock: context.clock)
    responder = RepositoryResponder(
      published: published, rules: configuration.rules, clients: configuration.clients,
      defaultSchema: configuration.defaultSchema, publicURL: context.publicURL,
      hosts: context.hosts.map(\.description), fields: fields, log: context.log,
      clock: context.clock)
    listing = IndexListing(fields)
    self.verification = VerificationResponder(verification, fields, clock: context.clock)
    repository = configuration.repository
    log = context.log
    durations = context.metrics.histogram(
      "awd_tokenscript_index_duration_seconds", "Duration of an index build",
      bounds: [0.01, 0.1, 0.5, 1, 5, 10, 60].map { .seconds($0) })
    context.metrics.gauge(
      "awd_tokenscript_index_generation", "Index builds since the start"
    ) { Double(published.value.generation) }
    context.metrics.gauge(
      "awd_tokenscript_contracts", "Contracts with served or withdrawn files"
    ) { Double(published.value.editions.count) }
    context.metrics.gauge(
      "awd_tokenscript_signer_expiry_timestamp_seconds",
      "Earliest expiry date of a signer's certificate"
    ) { Double(published.value.firstExpiry ?? 0) }
    for state in IndexRow.Summary.allCases {
      context.metrics.gauge(
        "awd_tokenscript_files", "Repository files", ["state": state.rawValue]
      ) { Double(published.value.counts[state] ?? 0) }
    }
    try await index()
  }

  /// Registers the files' and the schemas' routes.
  ///
  /// - Parameter router: takes them.
  public func register(on router: inout Router) {
    router.errorFields = responder.fields.errors
    router.optionsFields = responder.fields.options
    router.get("/{address:prefix(0x)}") { request, parameters in
      try responder.bare(request, parameters)
    }
    let version = "/{year:digits(4)}/{month:digits(2)}"
    router.get(version + "/{address:prefix(0x)}") { request, parameters in
      try responder.versioned(request, parameters)
    }
    for pattern in ["/{name}", "/tokenscript/{name}"] {
      router.get(version + pattern) { request, parameters in
        try responder.schema(request, parameters)
      }
    }
    router.get("/tokenscript/{address:prefix(0x)}/chain/{network}/script-uri") {
      request, parameters in
      try responder.scriptURI(request, parameters)
    }
    router.get("/") { [listing, operatorPages] request, _ in
      try await listing.response(
        to: request.head, for: responder.published.value,
        links: request.isLocal ? operatorPages : [])
    }
    router.post("/api/v1/verifyXMLDSig", bodyLimit: VerificationResponder.bodyLimit) {
      [verification] request, _ in
      try await verification.response(to: request)
    }
    router.readiness("index") {
      responder.published.value.generation == 0 ? "the index is not made yet" : nil
    }
  }

  /// What to try with the demo; nothing for another repository.
  ///
  /// - Parameter url: the server's URL.
  public func examples(at url: String) -> [ServiceExample] {
    guard isDemo else { return [] }
    return DemoExamples(index: responder.published.value, url: url, host: host).all
  }

  /// Makes a new index whenever something below the root has changed, until it is cancelled.
  ///
  /// - Throws: ``SystemError`` where the system watches no folders, and what the store throws.
  public func run() async throws {
    let watch = try RepositoryWatch()
    try watch.start()
    defer { watch.stop() }
    try await follow(watch)
    try await withTaskCancellationHandler {
      for await _ in watch.changes {
        do {
          try await index()
          try await follow(watch)
        } catch let error as RepositoryError {
          // What is missing is watched too: its return is the next change.
          log.error("the old index stays", ["reason": "\(error)"])
        }
      }
    } onCancel: {
      watch.stop()
    }
  }

  /// Watches the folders there are, and looks again at those that were not watched until now.
  private func follow(_ watch: RepositoryWatch) async throws {
    while true {
      let (hasNew, unwatched) = watch.watch(repository, await indexer.folders)
      if unwatched > 0 {
        log.warning(
          "changes in some folders are seen on SIGHUP only: fs.inotify.max_user_watches is reached",
          ["folders": unwatched])
      }
      guard hasNew else { return }
      try await index()
    }
  }

  /// Makes a new index beside the old one, and puts it in its place.
  ///
  /// - Throws: what stands in its way; the old index stays in service.
  public func reload() async throws {
    try await index()
  }

  private func index() async throws {
    let start = ContinuousClock.now
    try await indexer.index()
    durations.observe(.now - start)
  }
}
