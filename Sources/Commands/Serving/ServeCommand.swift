internal import Configuration
internal import Formats
internal import Glibc
internal import HTTPServer
internal import Observability
internal import ServiceKit
internal import Synchronization

/// `awd serve`: the daemon.
struct ServeCommand: Command {
  static let name = "serve"
  static let summary = "Serve all services that are switched on, until SIGTERM; SIGHUP reloads"
  static let parameters: [CommandParameter] = [
    .configuration,
    .flag("trust-clock", "trust the system clock for expiry after a long stop"),
  ]

  static func run(_ context: CommandContext) async throws {
    let configuration = try LoadedConfiguration(context)
    let log = Log(level: configuration.server.logLevel, format: configuration.server.logFormat)
    do {
      try await serve(configuration, log, context)
    } catch {
      let cause = Program.sentence(of: error)
      let isJSON = configuration.server.logFormat == .json
      // A collector of JSON logs gets nothing but JSON.
      if isJSON { log.error("the server can't start", ["cause": cause]) }
      // What the log has said before comes before the last sentence, which says why the process ends.
      log.flush()
      throw isJSON ? CommandError.logged(cause) : error
    }
  }

  private static func serve(
    _ configuration: LoadedConfiguration, _ log: Log, _ context: CommandContext
  ) async throws {
    let server = configuration.server
    try DataOwner(of: server.data, configuredIn: configuration.file)?.refuseRoot()
    let isWaiting = Atomic(false)
    // From here on, so that a signal during the start isn't lost.
    let signals = try StopSignals.requests {
      // Nothing is served yet that would have to be finished.
      guard isWaiting.load(ordering: .relaxed) else { return false }
      log.info("stopped while waiting for the database")
      log.flush()
      return true
    }
    log.info(
      "\(Product.name) \(Product.version) starts",
      ["commit": Product.commit, "date": Product.date])
    try DataFolder.prepare(server.data)
    // Nodes on one machine may share the folder of their keys.
    let lock = server.store.path == nil ? nil : try DataFolderLock(server.data)
    defer { extendLifetime(lock) }
    try checkAddresses(server)
    // The daemon reads it again when all else is ready, which may be long after.
    _ = try server.tls.map(Daemon.certificate)
    let manager = NotifySocket(context.environment)
    let runtime = try await DatabaseWait(configuration, log, manager).open(
      whileWaiting: { isWaiting.store($0, ordering: .relaxed) }
    ) {
      try await ServiceRuntime.open(
        configuration, services: context.services, log: log, isServing: true,
        trustsClock: context.arguments.has("trust-clock"))
    }
    var deadline: Task<Void, any Error>?
    try await closing(runtime.leave) {
      try await runtime.node.join(log: log)
      let daemon = try await Daemon(in: runtime, services: context.services)
      // Services have made the files of keys that were missing at the first start.
      try await runtime.node.recordKeys()
      try daemon.start()
      log.flush()
      show(daemon, context.print, isForPeople: server.logFormat == .text)
      deadline = await daemon.run(until: signals, notifying: manager) {
        () throws(ConfigurationError) in
        try LoadedConfiguration(
          file: configuration.file, environment: context.environment, services: context.services)
      }
    }
    deadline?.cancel()
    log.info("stopped")
    log.flush()
  }

  /// Fails where the server will not be able to listen, before keys and a store are made that nobody needs then.
  private static func checkAddresses(_ server: ServerConfiguration) throws(ServerError) {
    for address in server.allListenAddresses {
      // A socket file is made, or found to be another's, when all else is ready.
      guard case .tcp = address.endpoint else { continue }
      if let problem = WebServer.problem(listeningAt: address.endpoint) { throw problem }
    }
  }

  /// Prints the addresses that a person can open and commands to try. A collector of JSON logs gets nothing but JSON.
  private static func show(_ daemon: Daemon, _ print: (String) -> Void, isForPeople: Bool) {
    guard isForPeople else { return }
    let pages = daemon.pages
    if !pages.isEmpty {
      print("\nOpen in a browser:\n")
      for page in pages { print("  \(page.url)  \(page.title)") }
    }
    let examples = daemon.examples
    if !examples.isEmpty {
      print("\nTry, in another terminal:\n")
      for example in examples { print("  \(example.outcome):\n    \(example.command)\n") }
    }
    // They must not wait in a buffer for the daemon's end.
    fflush(nil)
  }
}
