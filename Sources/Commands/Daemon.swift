internal import Configuration
internal import Glibc
internal import HTTPServer
internal import Observability
internal import ServiceKit
internal import Storage

/// All that runs in `awd serve`: the services, and the servers that carry their requests.
struct Daemon: Sendable {
  /// How long requests and sessions may take to finish after SIGTERM.
  private static let drainLimit = Duration.seconds(7)

  let workplace: Workplace
  private let services: [any Service]
  private let supervisor: ServiceSupervisor
  let server: HTTPServer
  /// Answers what is for the operator alone; nil: the server does, for peers on this machine.
  let adminServer: HTTPServer?
  private let status: StatusRoutes
  private let log: Log
  /// The certificate for TLS, where some listener speaks it.
  private let certificate: ServerCertificate?

  /// Makes the services that are switched on, and connects them.
  ///
  /// - Throws: ``CommandError`` that says what is wrong and what to do.
  init(in workplace: Workplace, services: [any Service.Type]) async throws {
    let configuration = workplace.configuration
    let log = workplace.log
    var running: [any Service] = []
    for service in services where configuration.server.services.contains(service.name) {
      do {
        running.append(try await service.init(workplace.context(for: service)))
      } catch {
        throw CommandError.refused("the service \(service.name): \(error)")
      }
    }
    let supervisor = ServiceSupervisor(running, log: log)
    let routers = running.map { service in
      let name = type(of: service).name
      var router = Router(service: name, hosts: configuration.hosts(of: type(of: service)))
      service.register(on: &router)
      router.readiness("background") { supervisor.failure(of: name) }
      return router
    }
    var store = Router(service: "store")
    store.readiness("writable") { [store = workplace.store] in
      do {
        try await store.write { _ in }
        return nil
      } catch {
        return "it can't be written to"
      }
    }
    let checked = routers + [store]
    let probes = Router.probes(
      name: Product.name, version: Product.version, checking: checked)
    let address = configuration.server.adminListen
    let metrics = Router.metrics(
      name: Product.name, of: workplace.metrics, onlyLocal: address == nil)
    let status = StatusRoutes(
      services: running.map { type(of: $0).name }, metrics: workplace.metrics)
    let page = status.router(onlyLocal: address == nil) { await Router.reasons(against: checked) }
    let operators = [metrics, page] + routers.map { $0.operatorRouter(onlyLocal: address == nil) }

    self.workplace = workplace
    self.services = running
    self.supervisor = supervisor
    self.status = status
    self.log = log
    var certificate: ServerCertificate?
    if let tls = configuration.server.tls {
      do throws(ServerCertificate.Failure) {
        certificate = try ServerCertificate(tls)
      } catch {
        throw CommandError.refused(error.message)
      }
    }
    self.certificate = certificate
    server = try Self.server(
      routers + [probes] + (address == nil ? operators : []),
      at: configuration.server.listen, showing: certificate, threads: workplace.loops,
      in: workplace)
    adminServer = try address.map {
      try Self.server(
        [probes] + operators, at: [$0], showing: certificate, threads: 1, in: workplace)
    }
    measure()
  }

  /// Listens, and tells what is served where.
  ///
  /// - Throws: ``CommandError`` that names the address that can't be listened on.
  func start() throws(CommandError) {
    for server in [adminServer, server].compactMap(\.self) {
      do throws(ServerError) {
        try server.start()
      } catch {
        throw .refused("\(error)")
      }
    }
    announce()
  }

  /// Works until asked to stop; returns when all is finished and committed.
  ///
  /// - Parameters:
  ///   - signals: what is asked for.
  ///   - manager: is told how that goes.
  ///   - load: reads the configuration anew.
  ///   - limit: after how long the process ends in any case.
  func run(
    until signals: AsyncStream<StopSignals.Request>, telling manager: NotifySocket,
    reloading load: @escaping @Sendable () throws(ConfigurationError) -> LoadedConfiguration,
    within limit: Duration
  ) async {
    await withTaskGroup { group in
      group.addTask { await supervisor.run() }
      group.addTask { await status.run() }
      group.addTask { [loops = server.loops] in
        await manager.keepAlive(
          loops.map { loop in { answer in loop.execute(answer) } })
      }
      manager.tellReady(summary)
      serving: for await signal in signals {
        switch signal {
        case .reload:
          manager.tellReloading()
          await reload(load)
          manager.tellReady(summary)
        case .stop: break serving
        }
      }
      manager.tellStopping()
      log.info("stopping: no further connections, open ones are finished")
      let deadline = Task {
        try await Task.sleep(for: limit)
        log.error("stopped by force: something did not finish in time")
        log.flush()
        _exit(1)
      }
      await server.drain(within: Self.drainLimit)
      await adminServer?.drain(within: .seconds(1))
      group.cancelAll()
      await group.waitForAll()
      await workplace.store.close()
      deadline.cancel()
      log.info("stopped")
    }
  }

  /// Takes up what can be changed while running; what is wrong leaves the old state.
  private func reload(
    _ load: @Sendable () throws(ConfigurationError) -> LoadedConfiguration
  ) async {
    var isComplete = true
    var tls = workplace.configuration.server.tls
    do throws(ConfigurationError) {
      let new = try load()
      log.setLevel(new.server.log.level.logged)
      // Whether there is TLS at all is a matter of the listeners, which stay as they are.
      tls = tls.map { new.server.tls ?? $0 }
      let waiting = new.changes(since: workplace.configuration)
        .filter { !LoadedConfiguration.reloaded.contains($0) }
      if !waiting.isEmpty {
        log.warning(
          "changed keys take effect at the next start",
          ["keys": waiting.joined(separator: " ")])
      }
    } catch {
      isComplete = false
      for problem in error.problems {
        log.error("configuration refused, the old one stays", ["problem": "\(problem)"])
      }
    }
    if let tls, !reloadCertificate(tls) { isComplete = false }
    if await supervisor.reload() && isComplete { log.info("reloaded") }
  }

  /// What is served where, in a line.
  private var summary: String {
    let services = workplace.configuration.server.services.joined(separator: ", ")
    return "\(services) at \(server.endpoints.map { "\($0)" }.joined(separator: ", "))"
  }

  /// Shows the certificate that the files have now to who connects from now on.
  private func reloadCertificate(_ tls: ServerConfiguration.TLS) -> Bool {
    do throws(ServerCertificate.Failure) {
      let certificate = try ServerCertificate(tls)
      try certificate.use { credentials throws(TLSError) in
        try server.use(credentials)
        try adminServer?.use(credentials)
      }
      return true
    } catch {
      log.error("certificate refused, the old one stays", ["cause": error.message])
      return false
    }
  }

  private func announce() {
    let configuration = workplace.configuration
    if configuration.file == nil {
      log.info("no configuration file was given: this is the development setting")
    }
    log.info(
      "\(Product.name) \(Product.version) is running",
      [
        "configuration": configuration.file ?? "defaults", "data": configuration.server.data,
        "store": "\(configuration.server.store)", "loops": workplace.loops,
      ])
    for service in configuration.server.services {
      log.info("service is on", ["service": service])
    }
    if configuration.server.services.isEmpty {
      log.warning("no service is switched on: only probes are answered")
    }
    for url in server.urls { log.info("listening", ["at": url]) }
    for url in adminServer?.urls ?? [] { log.info("listening for the operator", ["at": url]) }
    if let certificate {
      switch certificate.finding.grade {
      case .good: log.info(certificate.finding.message)
      case .doubtful: log.warning(certificate.finding.message)
      case .wrong: log.error(certificate.finding.message)
      }
    }
  }

  /// What the services suggest to try, with an address that this machine reaches them by.
  var examples: [ServiceExample] {
    for case .tcp(let host, let port) in server.endpoints {
      // Every address of the machine: one of them is its own.
      let host = host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host
      let url = "http://\(Endpoint.tcp(host: host, port: port))"
      return services.flatMap { $0.examples(at: url) }
    }
    return []
  }

  private static func server(
    _ routers: [Router], at addresses: [ListenAddress], showing certificate: ServerCertificate?,
    threads: Int, in workplace: Workplace
  ) throws(CommandError) -> HTTPServer {
    let configuration = workplace.configuration.server
    let limits = configuration.limits
    var options = ServerOptions(
      endpoints: addresses.filter { !$0.isSecure }.map { Endpoint($0) }, threads: threads)
    options.secureEndpoints = addresses.filter(\.isSecure).map { Endpoint($0) }
    options.credentials = certificate?.credentials
    options.head = limits.header
    options.headerTimeout = limits.headerTimeout
    options.idleTimeout = limits.idleTimeout
    options.connections = limits.connections
    let table: RouteTable
    do throws(RouteConflict) {
      table = try RouteTable(
        routers, bodyLimit: limits.body, proxies: TrustedProxies(configuration.trustedProxies),
        log: workplace.log, metrics: workplace.metrics)
    } catch {
      throw .refused("routes in conflict: \(error)")
    }
    do throws(ServerError) {
      return try HTTPServer(options: options, responder: table) { [log = workplace.log] in
        log.warning($0)
      }
    } catch {
      throw .refused("\(error)")
    }
  }
}

extension Endpoint {
  /// Where the configuration says to listen.
  fileprivate init(_ address: ListenAddress) {
    self =
      switch address.endpoint {
      case .tcp(let host, let port): .tcp(host: "\(host)", port: port)
      case .unix(let path): .unix(path: path)
      }
  }
}

extension HTTPServer {
  /// Where it really listens.
  fileprivate var urls: [String] {
    endpoints.map { "http://\($0)" } + secureEndpoints.map { "https://\($0)" }
  }
}
