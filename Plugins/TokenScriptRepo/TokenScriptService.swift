internal import Configuration
internal import Bus
internal import Glibc
internal import HTTPProtocol
internal import Observability
internal import Pages
public import Routing
public import ServiceKit
public import Storage
internal import Threading
internal import Time
internal import TokenScriptReading

/// Serves signed TokenScripts to wallets, from a repository of files that is indexed by their contracts.
public struct TokenScriptService: Migrating, Commanding, Demonstrating, Running, Reloading {
  /// `tokenscript`.
  public static let name = "tokenscript"
  /// `awd repo …`, `awd wallet fetch` and `awd wallet open`.
  public static var commands: [any Command.Type] {
    [
      RepositoryListCommand.self, RepositoryNewCommand.self, RepositoryVerifyCommand.self,
      RepositorySignCommand.self,
      RepositoryPublishCommand.self, RepositoryWithdrawCommand.self, RepositoryGoneCommand.self,
      RepositoryPreviewCommand.self, RepositorySchemasCommand.self,
      SchemaWorkerCommand.self, WalletFetchCommand.self, WalletOpenCommand.self,
    ]
  }
  /// The tables of readings and times.
  public static var migrations: [Migration] { ContractStore.migrations }

  let indexer: RepositoryIndexer
  private let responder: RepositoryResponder
  private let listing: IndexListing
  private let contractPages: ContractPages
  private let places: PlacesResponder
  private let verification: VerificationResponder
  /// Publishes files, or nil if the policy is "off".
  private let publisher: Publisher?
  /// Shows previews, or nil if the policy is "off".
  private let previews: PreviewResponder?
  private let reports: ReportResponder
  private let store: ContractStore
  private let bus: any Bus
  private let expiry: @Sendable () -> Timestamp
  private let reading = ThreadPool(named: "awd-read", queue: 256)
  let survey: ChainSurvey
  private let log: Log
  private let isDemo: Bool
  private let host: String?
  private let operatorPages: [PageLink]

  /// Makes the service and its first index.
  ///
  /// - Parameters:
  ///   - context: the store, and all else that the service uses.
  ///   - configuration: the section `[tokenscript]`.
  /// - Throws: an error if the repository, the schemas or the roots can't be read.
  public init(_ context: ServiceContext, _ configuration: TokenScriptConfiguration) async throws {
    let demo =
      configuration.isRepositoryConfigured ? nil : DemoRepository(dataFolder: context.dataFolder)
    if let demo {
      let (now, log) = (context.clock().wholeSecond, context.log)
      try await ThreadPool(named: "awd-demo", width: 1).run { try demo.make(now: now, log: log) }
    }
    isDemo = demo?.isThere ?? false
    host = context.hosts.first?.description
    operatorPages = context.operatorPages
    let headers = ResponseHeaders(
      dependsOnClient: !configuration.clients.isEmpty,
      takesFiles: configuration.publicationPolicy != .off)
    let currentIndex = AtomicReference(ContractIndex.empty)
    let verification = AtomicReference(FileVerification())
    let durations = context.metrics.histogram(
      "awd_tokenscript_index_duration_seconds", "Duration of an index build",
      bounds: [0.01, 0.1, 0.5, 1, 5, 10, 60].map { .seconds($0) })
    let store = ContractStore(context.store)
    survey = try await ChainSurvey(
      configuration.chains, store: store, log: context.log, clock: context.clock)
    indexer = RepositoryIndexer(
      configuration, headers, currentIndex, verification, survey.words, store: store,
      log: context.log, clock: context.clock, durations: durations)
    responder = RepositoryResponder(
      index: currentIndex, clients: configuration.clients,
      defaultSchema: configuration.defaultSchema, publicURL: context.publicURL,
      hosts: context.hosts.map(\.description), headers: headers, log: context.log,
      clock: context.clock)
    // One thread that gives way to those that serve.
    let pageThreads = ThreadPool(named: "awd-page", width: 1, queue: 64, niceness: 10)
    listing = IndexListing(headers, on: pageThreads)
    contractPages = ContractPages(
      responder: responder, explorers: configuration.explorers, threads: pageThreads)
    places = PlacesResponder(
      responder: responder, explorers: configuration.explorers, threads: pageThreads)
    publisher =
      configuration.publicationPolicy == .off
      ? nil
      : Publisher(
        configuration.publicationPolicy, responder, indexer, survey, verification, store,
        context.bus)
    previews =
      configuration.previewPolicy == .off
      ? nil : PreviewResponder(configuration.previewPolicy, responder, verification, store)
    reports = ReportResponder(responder, verification, store, context.metrics)
    self.store = store
    bus = context.bus
    expiry = context.expiry
    self.verification = VerificationResponder(verification, headers, clock: context.clock)
    log = context.log
    context.metrics.gauge(
      "awd_tokenscript_index_generation", "Index builds since the start"
    ) { Double(currentIndex.value.generation) }
    context.metrics.gauge(
      "awd_tokenscript_contracts", "Contracts with served or withdrawn files"
    ) { Double(currentIndex.value.editions.count) }
    context.metrics.gauge(
      "awd_tokenscript_signer_expiry_timestamp_seconds",
      "Earliest expiry date of a signer's certificate"
    ) { Double(currentIndex.value.firstExpiry?.seconds ?? 0) }
    for state in IndexRow.Summary.allCases {
      context.metrics.gauge(
        "awd_tokenscript_files", "Repository files", ["state": state.rawValue]
      ) { Double(currentIndex.value.counts[state] ?? 0) }
    }
    try await indexer.index()
  }

  /// Registers the routes of files, schemas, the index and the verification.
  public func register(on router: inout Router) {
    router.errorFields = responder.headers.errors
    router.optionsFields = responder.headers.options
    let version = "/{year:digits(4)}/{month:digits(2)}"
    for place in ["/{address:prefix(0x)}", "/chain/{chain}/{address:prefix(0x)}"] {
      addFiles(place, responder.bare, to: &router)
      addFiles(version + place, responder.versioned, to: &router)
      guard let publisher else { continue }
      router.on([.put], version + place, bodyLimit: VerificationQueue.bodyLimit) {
        request, parameters in
        try await publisher.put(request, parameters)
      }
      router.on([.delete], version + place) { request, parameters in
        try await publisher.delete(request, parameters)
      }
    }
    if let previews {
      router.post("/preview", bodyLimit: VerificationQueue.bodyLimit) { request, _ in
        try await previews.post(request)
      }
      router.get("/preview/{secret}") { request, parameters in
        try await previews.get(request, parameters)
      }
    }
    for pattern in ["/{name}", "/tokenscript/{name}"] {
      router.get(version + pattern, responder.schema)
    }
    places.register(on: &router)
    router.get("/") { [listing, operatorPages] request, _ in
      try await listing.response(
        to: request, for: responder.index.value,
        links: request.isLocal ? operatorPages : [])
    }
    router.get("/contracts/{chain}/{address}") { [contractPages] request, parameters in
      try await contractPages.response(to: request, parameters)
    }
    for place in ["/favicon.svg", "/favicon.ico"] { router.get(place) { _, _ in Favicon.response } }
    router.post("/api/v1/verifyXMLDSig", bodyLimit: VerificationQueue.bodyLimit) {
      [verification] request, _ in
      try await verification.response(to: request)
    }
    router.post("/tokenscript/validate", bodyLimit: VerificationQueue.bodyLimit) {
      [verification, responder] request, _ in
      let base = responder.base(for: request)
      return try await verification.validation(of: request) { url in
        base.flatMap { responder.content(at: url, base: $0) }
      }
    }
    router.post("/tokenscript/report", bodyLimit: ReportResponder.bodyLimit) {
      [reports] request, _ in
      try await reports.post(request)
    }
    router.readiness("index") {
      responder.index.value.generation == 0 ? "the index is not made yet" : nil
    }
  }

  /// Adds a route to files, whose contents may have to be read first for some seconds after the start.
  private func addFiles(
    _ pattern: String, _ handler: @escaping Router.Handler, to router: inout Router
  ) {
    router.get(pattern, inlineIf: { responder.index.value.isRead }) { request, parameters in
      do { return try handler(request, parameters) } catch is UnreadContent {
        // Another index has come between the question and the answer.
        throw HTTPError(.serviceUnavailable, retryAfter: 1)
      }
    } otherwise: { [reading] request, parameters in
      while true {
        do { return try handler(request, parameters) } catch let unread as UnreadContent {
          do {
            _ = try await reading.run(
              for: request.origin.client, orRefuseWith: "too many files are being read"
            ) { try unread.content.load() }
          } catch is Content.Stale {
            throw HTTPError(.serviceUnavailable, "the file has just changed", retryAfter: 1)
          }
        }
      }
    }
  }

  /// Returns requests to try with the demo, or none for another repository.
  ///
  /// - Parameter url: the server's URL.
  public func examples(at url: String) -> [ServiceExample] {
    guard isDemo else { return [] }
    return DemoExamples(index: responder.index.value, url: url, host: host).all
  }

  /// Makes a new index after each change below the root, and asks the chains, until the task is cancelled.
  ///
  /// - Throws: ``SystemError`` if the system can't watch folders, or the store's error.
  public func run() async throws {
    try await withThrowingTaskGroup { group in
      group.addTask { try await follow() }
      group.addTask {
        await survey.run({ responder.index.value.questions }) { try await remake() }
      }
      group.addTask { await followStore() }
      group.addTask { await deletePreviews() }
      try await group.waitForAll()
    }
  }

  /// The time between two looks at what others have published or withdrawn, whether or not they have told so.
  private static let lookInterval = Duration.milliseconds(500)

  /// Makes a new index after publications at other nodes and withdrawals by commands.
  private func followStore() async {
    await withTaskGroup { group in
      group.addTask {
        // What fails here is tried again by the looks.
        for await _ in bus.events(of: Self.name) { try? await look() }
      }
      group.addTask {
        var hasFailed = false
        while (try? await Task.sleep(for: Self.lookInterval)) != nil {
          do {
            try await look()
            hasFailed = false
          } catch {
            if !hasFailed { log.warning("publications aren't seen", ["reason": "\(error)"]) }
            hasFailed = true
            try? await Task.sleep(for: .seconds(2))
          }
        }
      }
    }
  }

  /// Makes a new index if other nodes have published or withdrawn something, or have heard something new from a chain.
  private func look() async throws {
    try await indexer.indexPublications()
    if try await survey.adopt() { try await remake() }
  }

  /// Deletes previews that are over, every quarter of an hour.
  private func deletePreviews() async {
    guard previews != nil else { return }
    await Self.repeatWork(every: .seconds(900), orLog: "old previews are not deleted yet", in: log)
    {
      try await store.deletePreviews(over: expiry())
    }
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
      try await indexer.index()
    } catch let error as RepositoryError {
      // A missing root is watched too, so its return is the next change.
      log.error("the old index stays", ["reason": "\(error)"])
    }
  }

  /// Replaces the index in service by a new one.
  ///
  /// - Throws: an error if the repository can't be read; the old index then stays in service.
  public func reload() async throws { try await indexer.index() }
}
