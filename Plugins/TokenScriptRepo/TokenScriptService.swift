internal import Configuration
internal import Cluster
internal import HTTPProtocol
internal import Observability
internal import WebApps
package import Routing
package import ServiceKit
package import Storage
internal import Platform

/// Serves signed TokenScripts to wallets, from a repository of files that is indexed by their contracts.
package struct TokenScriptService: Migrating, Commanding, Demonstrating, Presenting, Running,
  Reloading
{
  /// `tokenscript`.
  package static let name = "tokenscript"
  /// `awd repo …`, `awd wallet fetch` and `awd wallet open`.
  package static var commands: [any Command.Type] {
    [
      RepositoryListCommand.self, RepositoryNewCommand.self, RepositoryVerifyCommand.self,
      RepositorySignCommand.self, RepositoryCertificateRequestCommand.self,
      RepositoryCertificateSignCommand.self, RepositoryPublishCommand.self,
      RepositoryWithdrawCommand.self,
      RepositoryGoneCommand.self, RepositoryPreviewCommand.self, RepositorySchemasCommand.self,
      SchemaWorkerCommand.self, WalletFetchCommand.self, WalletOpenCommand.self,
    ]
  }
  /// The tables of readings and times.
  package static var migrations: [Migration] { ContractStore.migrations }

  let indexer: RepositoryIndexer
  let scheduler: ChainScheduler
  private let repository: Repository
  private let responder: RepositoryResponder
  private let listing: IndexListing
  private let places: LocationsResponder
  private let verification: VerificationResponder
  private let reports: ReportResponder
  /// Publishes files, or nil if the policy is "off".
  private let publisher: PublicationResponder?
  /// Shows previews, or nil if the policy is "off".
  private let previews: PreviewResponder?
  private let reading = ThreadPool(named: "awd-read", queue: 256)
  private let isDemo: Bool
  private let repositoryFault = RepositoryFault()

  private var context: ServiceContext { repository.context }

  /// Makes the service and its first index.
  ///
  /// - Throws: an error if the repository, the schemas or the roots can't be read.
  package init(_ context: ServiceContext, _ configuration: TokenScriptConfiguration) async throws {
    // Nodes that share a store would each make a demo of its own, with other keys.
    let mayMakeDemo = !configuration.isRepositoryConfigured && !context.store.isShared
    let demo = mayMakeDemo ? DemoRepository(dataFolder: context.dataFolder) : nil
    if demo == nil, configuration.isRepositoryInData {
      try await ThreadPool(named: "awd-demo", width: 1).run {
        try DurableFile.makeFolder(configuration.repository)
      }
    }
    if let demo {
      let now = context.clock().wholeSecond
      let log = context.log
      try await ThreadPool(named: "awd-demo", width: 1).run { try demo.make(now: now, log: log) }
    }
    isDemo = demo?.isThere ?? false
    let repository = Repository(context, configuration)
    self.repository = repository
    scheduler = try await ChainScheduler(
      configuration.chains, store: repository.store, log: context.log, clock: context.clock)
    indexer = RepositoryIndexer(repository, scheduler.answers)
    // One thread that gives way to those that serve.
    let pageThreads = ThreadPool(named: "awd-page", width: 1, queue: 64, niceness: 10)
    listing = IndexListing(repository.headers, on: pageThreads)
    responder = RepositoryResponder(repository: repository)
    places = LocationsResponder(responder: responder, threads: pageThreads)
    verification = VerificationResponder(responder: responder)
    reports = ReportResponder(repository)
    publisher =
      configuration.publicationPolicy == .off
      ? nil : PublicationResponder(repository, indexer, scheduler)
    previews = configuration.previewPolicy == .off ? nil : PreviewResponder(repository)
    func gauge(
      _ name: StaticString, _ help: String, _ labels: Metrics.Labels = [:],
      _ value: @escaping @Sendable (ContractIndex) -> Double
    ) { context.metrics.gauge(name, help, labels) { value(repository.index.value) } }
    gauge("awd_tokenscript_index_generation", "Index builds since the start") {
      Double($0.generation)
    }
    gauge("awd_tokenscript_contracts", "Contracts with served or withdrawn files") {
      Double($0.editions.count)
    }
    gauge(
      "awd_tokenscript_signer_expiry_timestamp_seconds",
      "Earliest expiry date of a signer's certificate"
    ) { Double($0.firstExpiry?.seconds ?? 0) }
    for state in IndexRow.Summary.allCases {
      gauge("awd_tokenscript_files", "Repository files", ["state": state.rawValue]) {
        Double($0.counts[state] ?? 0)
      }
    }
    try await indexer.index()
  }

  /// Registers the routes of files, schemas, the index and the verification.
  package func register(on router: inout Router) {
    router.errorFields = repository.headers.errors
    router.optionsFields = repository.headers.options
    let version = "/{year:digits(4)}/{month:digits(2)}"
    for place in ["/{address:prefix(0x)}", "/chain/{chain}/{address:prefix(0x)}"] {
      addFiles(place, responder.bare, to: &router)
      addFiles(version + place, responder.versioned, to: &router)
      guard let publisher else { continue }
      router.on([.put], version + place, bodyLimit: VerificationQueue.bodyLimit, publisher.put)
      router.on([.delete], version + place, publisher.delete)
    }
    if let previews {
      router.post("/preview", bodyLimit: VerificationQueue.bodyLimit) { request, _ in
        try await previews.post(request)
      }
      router.get("/preview/{secret}", previews.get)
    }
    for pattern in ["/{name}", "/tokenscript/{name}"] {
      router.get(version + pattern, responder.schema)
    }
    router.get("/{path...:suffix(.tsml)}") { [responder] request, _ in
      try responder.link(request)
    }
    places.register(on: &router)
    // In a browser `/` is the front door of the whole server.
    for page in ["/", IndexPage.path] {
      router.get(page) { [listing, repository] request, _ in
        try await listing.response(
          to: request, for: repository.index.value,
          links: request.isLocal ? repository.context.operatorPages : [])
      }
    }
    for place in ["/favicon.svg", "/favicon.ico"] { router.get(place) { _, _ in Favicon.response } }
    router.post("/api/v1/verifyXMLDSig", bodyLimit: VerificationQueue.bodyLimit) {
      [verification] request, _ in
      try await verification.response(to: request)
    }
    router.post("/tokenscript/validate", bodyLimit: VerificationQueue.bodyLimit) {
      [verification] request, _ in
      try await verification.validation(of: request)
    }
    router.post("/tokenscript/report", bodyLimit: ReportResponder.bodyLimit) {
      [reports] request, _ in
      try await reports.post(request)
    }
    router.readiness("index") {
      repository.index.value.generation == 0 ? "the index is not made yet" : nil
    }
  }

  /// The page of the index.
  package var cards: [ServiceCard] {
    [
      ServiceCard(
        "TokenScripts", "Look up the signed TokenScripts that this server keeps for contracts.",
        path: IndexPage.path)
    ]
  }

  /// Adds a route to files, whose contents may have to be read first for some seconds after the start.
  private func addFiles(
    _ pattern: String, _ handler: @escaping Router.Handler, to router: inout Router
  ) {
    router.get(pattern, inlineIf: { repository.index.value.isRead }) { request, parameters in
      do { return try handler(request, parameters) } catch is UnreadContent {
        // The index was replaced after the check above.
        throw HTTPError(.serviceUnavailable, retryAfter: 1)
      }
    } otherwise: { [reading] request, parameters in
      while true {
        do { return try handler(request, parameters) } catch let unread as UnreadContent {
          do {
            _ = try await reading.run(
              for: request.origin.client, orRefuseWith: "too many files are being read"
            ) { try unread.content.load() }
          } catch is FileContent.Changed {
            throw HTTPError(.serviceUnavailable, "the file has just changed", retryAfter: 1)
          }
        }
      }
    }
  }

  /// Returns requests to try with the demo, or none for another repository.
  package func examples(at url: String) -> [ServiceExample] {
    guard isDemo else { return [] }
    return DemoExamples(index: repository.index.value, url: url, host: repository.hosts.first).all
  }

  /// Rebuilds the index after each change below the root, and queries the chains, until the task is cancelled.
  ///
  /// - Throws: ``SystemError`` if the system can't watch folders, or the store's error.
  package func run() async throws {
    try await withThrowingTaskGroup { group in
      group.addTask { try await follow() }
      group.addTask {
        await scheduler.run({ repository.index.value.chainRequests }) { try await remake() }
      }
      group.addTask { await followStore() }
      group.addTask { await deletePreviews() }
      try await group.waitForAll()
    }
  }

  /// The time between two polls for publications and withdrawals of other nodes, whether or not they have notified this one.
  private static let pollInterval = Duration.milliseconds(500)

  /// Makes a new index after publications at other nodes and withdrawals by commands.
  private func followStore() async {
    await withTaskGroup { group in
      group.addTask {
        // The next poll tries again.
        for await _ in context.bus.events(of: Self.name) { try? await pollStore() }
      }
      group.addTask {
        var hasFailed = false
        while (try? await Task.sleep(for: Self.pollInterval)) != nil {
          do {
            try await pollStore()
            hasFailed = false
          } catch {
            if !hasFailed {
              context.log.warning(
                "publications of other nodes could not be read; retrying", ["reason": "\(error)"])
            }
            hasFailed = true
            try? await Task.sleep(for: .seconds(2))
          }
        }
      }
    }
  }

  /// Makes a new index if other nodes have published or withdrawn something, or have stored new answers of a chain.
  private func pollStore() async throws {
    try await indexer.indexPublications()
    if try await scheduler.adopt() { try await remake() }
  }

  /// Deletes previews that are over, every quarter of an hour.
  private func deletePreviews() async {
    guard previews != nil else { return }
    await Self.repeatWork(
      every: .seconds(900), orLog: "old previews are not deleted yet", in: context.log
    ) { try await repository.store.deletePreviews(over: context.expiry()) }
  }

  /// Makes a new index after each change below the root.
  private func follow() async throws {
    let watch = try await indexer.watching()
    try watch.start()
    defer { watch.stop() }
    try await withTaskCancellationHandler {
      for await _ in watch.changes { try await remake() }
    } onCancel: {
      watch.stop()
    }
  }

  /// Makes a new index; without the root the old one stays.
  private func remake() async throws {
    do {
      try await index()
    } catch let error as RepositoryError {
      // A missing root is watched too, so its return is the next change.
      guard repositoryFault.record("\(error)") else { return }
      context.log.error(
        "the repository could not be read; the old index stays", ["reason": "\(error)"])
    }
  }

  /// Replaces the index in service by a new one.
  ///
  /// - Throws: an error if the repository can't be read; the old index then stays in service.
  package func reload() async throws {
    do { try await index() } catch {
      repositoryFault.record("\(error)")
      throw error
    }
  }

  private func index() async throws {
    try await indexer.index()
    repositoryFault.clear()
  }
}
