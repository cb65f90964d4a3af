internal import Formats
internal import Configuration
internal import Cryptography
internal import Glibc
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Push
internal import Routing
internal import ServiceKit
internal import Storage
internal import Platform
internal import Transport

/// Everything that runs in `awd serve`: the services, and the servers that carry their requests.
struct Daemon: Sendable {
  /// The time that requests and sessions have to finish after SIGTERM.
  private static let drainLimit = Duration.seconds(7)
  /// The time after which a stop ends the process in any case. Service managers wait for 10 s or more.
  private static let stopLimit = Duration.milliseconds(9500)

  let runtime: ServiceRuntime
  private let services: [any Service]
  private let supervisor: ServiceSupervisor
  let server: WebServer
  /// The server of the operator's routes, or nil if ``server`` answers them to peers on this machine.
  let adminServer: WebServer?
  private let status: StatusRoutes
  private let log: Log
  /// The doubts of services about their configuration.
  private let warnings: [(service: String, finding: ContentFinding)]
  /// The certificate at the start, if a listener speaks TLS.
  private let certificate: CertificateFiles?

  /// Makes the services that are switched on, and connects them with the servers.
  ///
  /// - Throws: ``CommandError`` that says what is wrong and how to mend it.
  init(in runtime: ServiceRuntime, services: [any Service.Type]) async throws {
    let configuration = runtime.configuration
    var running: [any Service] = []
    for service in services where configuration.server.services.contains(service.name) {
      do {
        running.append(try await configuration.make(service, runtime.context(for: service)))
      } catch {
        throw CommandError.refused("the service \(service.name): \(StoreCheck.advice(on: error))")
      }
    }
    let supervisor = ServiceSupervisor(running, log: runtime.log)
    let routers = running.map { service in
      let name = type(of: service).name
      var router = Router(service: name, hosts: configuration.hosts(of: type(of: service)))
      service.register(on: &router)
      router.readiness("background") { supervisor.failure(of: name) }
      return router
    }
    let dialects = running.flatMap { ($0 as? any SpeakingDialects)?.dialectRouters() ?? [] }
    var pushRouter = Router(service: "push")
    if runtime.pushes.showsPayloads {
      pushRouter.getForOperator("/debug/pushes") { [pushes = runtime.pushes] _, _ in
        Self.response(pushes.recentPayloads)
      }
    }
    let checked = routers + [Self.storeChecks(StoreProbe(runtime.store), runtime.storeFile)]
    let probes = Router.probes(checking: checked)
    let address = configuration.server.adminListen
    let isShared = address == nil
    let access = configuration.server.operatorAccess
    let status = StatusRoutes(services: running.map { type(of: $0).name }, metrics: runtime.metrics)
    let operatorRouters =
      [
        Router.metrics(runtime.metrics, for: access),
        status.router(for: access, isAlone: !isShared) {
          await Router.unreadinessReasons(of: checked)
        },
      ] + (routers + [pushRouter]).map { $0.operatorRouter(for: access) }
    let certificate = try configuration.server.tls.map(Self.certificate)
    self.runtime = runtime
    self.services = running
    self.supervisor = supervisor
    self.status = status
    self.certificate = certificate
    log = runtime.log
    warnings = running.flatMap { service in
      let kind = type(of: service)
      let isExposed = configuration.server.isExposed
      let findings = configuration.checking(kind)?.warnings(isExposed: isExposed) ?? []
      return findings.map { (service: kind.name, finding: $0) }
    }
    server = try Self.server(
      routers + dialects + [probes] + (isShared ? operatorRouters : []),
      at: configuration.server.listen, with: certificate?.credentials, threads: runtime.loops,
      frontDoor: FrontDoor(
        name: configuration.server.name, cards: Self.cards(of: running),
        status: isShared ? StatusPage.path : nil), in: runtime)
    adminServer = try address.map {
      try Self.server(
        [probes] + operatorRouters, at: [$0], with: certificate?.credentials, threads: 1,
        in: runtime)
    }
    registerMetrics()
  }

  /// Returns a response with JSON that nobody keeps.
  private static func response(_ json: [UInt8]) -> Response {
    var response = Response(.ok, body: .array(json))
    response.fields.append(.contentType, "application/json")
    response.fields.append(.cacheControl, "no-store")
    return response
  }

  /// Makes a router that only checks whether the store is writable, and where the next start looks for it.
  private static func storeChecks(_ probe: StoreProbe, _ file: StoreFile) -> Router {
    var router = Router(service: "store")
    router.readiness("write") { await probe.problem }
    router.readiness("file") { file.isGone ? "its file was moved or deleted" : nil }
    return router
  }

  /// Reads the certificate and its key.
  static func certificate(
    _ tls: ServerConfiguration.TLS
  ) throws(CommandError) -> CertificateFiles {
    try CertificateFiles(for: "TLS", certificate: tls.certificate, key: tls.key)
  }

  /// Listens, and logs the services and addresses.
  ///
  /// - Throws: ``ServerError`` that names the address that can't be listened on.
  func start() throws(ServerError) {
    for server in [adminServer, server].compactMap(\.self) { try server.start() }
    announce()
  }

  /// Serves until asked to stop, and returns when all requests are finished and all writes committed.
  ///
  /// - Parameters:
  ///   - manager: the service manager, which is notified of the daemon's state.
  ///   - limit: the time after which a stop ends the process in any case.
  func run(
    until signals: AsyncStream<StopSignals.Request>, notifying manager: NotifySocket,
    reloading load: @escaping @Sendable () throws(ConfigurationError) -> LoadedConfiguration
  ) async -> Task<Void, any Error> {
    await withTaskGroup { group in
      group.addTask { await supervisor.run() }
      group.addTask { await runtime.pushes.run() }
      group.addTask { await status.run() }
      group.addTask { await watchDisk() }
      group.addTask { await runtime.node.run(log: log) }
      group.addTask { [loops = server.loops] in
        await manager.keepAlive(loops.map { loop in { reply in loop.execute(reply) } })
      }
      manager.notifyReady(summary)
      serving: for await signal in signals {
        switch signal {
        case .reload:
          manager.notifyReloading()
          await reload(load)
          manager.notifyReady(summary)
        case .stop: break serving
        }
      }
      manager.notifyStopping()
      log.info("stopping: no new connections, open ones are finished")
      let deadline = Task {
        try await Task.sleep(for: Self.stopLimit)
        log.error("stopped by force: something did not finish in time")
        log.flush()
        _exit(1)
      }
      await server.drain(within: Self.drainLimit)
      await adminServer?.drain(within: .seconds(1))
      group.cancelAll()
      await group.waitForAll()
      return deadline
    }
  }

  /// Follows the store's file and the free disk until cancelled. It is logged when the file is gone and when it is back, and
  /// when the disk falls below the mark and when it is above it again.
  private func watchDisk() async {
    let disk = runtime.disk
    let file = runtime.storeFile
    var isLow = false
    var isGone = false
    repeat {
      file.update()
      if file.isGone != isGone {
        isGone.toggle()
        let fields: Log.Fields = ["file": file.path ?? ""]
        if isGone {
          log.error(
            "the store's file was moved or deleted while awd writes to it: stop awd and put the file back",
            fields)
        } else {
          log.info("the store's file is back in its place", fields)
        }
      }
      disk.update()
      guard disk.refusesStrangers != isLow else { continue }
      isLow.toggle()
      let fields: Log.Fields = ["free_bytes": disk.freeBytes ?? 0, "mark_bytes": disk.mark]
      if isLow {
        log.warning("the disk is nearly full: nothing is stored for strangers", fields)
      } else {
        log.info("the disk has room again: strangers' data is stored too", fields)
      }
    } while (try? await Task.sleep(for: DiskReserve.interval)) != nil
  }

  /// Applies those changes of the configuration that can be made while the daemon runs. A faulty part leaves the old
  /// state.
  private func reload(
    _ load: @Sendable () throws(ConfigurationError) -> LoadedConfiguration
  ) async {
    var isComplete = true
    var tls = runtime.configuration.server.tls
    do throws(ConfigurationError) {
      let new = try load()
      log.setLevel(new.server.logLevel)
      // Whether there is TLS at all is a matter of the listeners, which stay as they are.
      tls = tls.map { new.server.tls ?? $0 }
      let waiting = new.changes(since: runtime.configuration)
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
    do { try await runtime.pushes.reload() } catch {
      isComplete = false
      log.error("push credentials refused, the old ones stay", ["cause": "\(error)"])
    }
    if await supervisor.reload() && isComplete { log.info("reloaded") }
  }

  /// Shows the certificate that the files now hold to clients that connect from now on.
  private func reloadCertificate(_ tls: ServerConfiguration.TLS) -> Bool {
    do {
      let certificate = try Self.certificate(tls)
      let now = Timestamp.now()
      guard certificate.credentials.isValid(at: now) else {
        throw CommandError.refused(certificate.validity(at: now).message)
      }
      for server in [server, adminServer].compactMap(\.self) {
        try server.use(certificate.credentials)
      }
      return true
    } catch {
      log.error("certificate refused, the old one stays", ["cause": "\(error)"])
      return false
    }
  }

  /// The services and addresses, in one line.
  private var summary: String {
    let services = runtime.configuration.server.services.joined(separator: ", ")
    return "\(services) at \(server.endpoints.map { "\($0)" }.joined(separator: ", "))"
  }

  private func announce() {
    let configuration = runtime.configuration
    if configuration.file == nil {
      log.info("no configuration file was given: this is the development setting")
    }
    log.info(
      "\(Product.name) is running",
      [
        "configuration": configuration.file ?? "defaults", "data": configuration.server.data,
        "store": "\(configuration.server.store.place)", "loops": runtime.loops,
      ])
    for service in configuration.server.services { log.info("service is on", ["service": service]) }
    if configuration.server.services.isEmpty {
      log.warning("no service is switched on: only probes are answered")
    }
    for finding in ExposureCheck.findings(configuration.server) where finding.grade != .good {
      log.warning(finding.message)
    }
    // A proxy may be there, or not yet.
    let setting = configuration.server
    if !setting.trustedProxies.isEmpty, !setting.isExposed, setting.publicURL == nil {
      log.warning(ExposureCheck.missingURL)
    }
    if case .postgreSQL(let address) = configuration.store,
      let doubt = DatabaseCheck.identity(of: address)
    {
      log.warning(doubt.message)
    }
    for doubt in configuration.doubts { log.warning(doubt.message) }
    for (service, finding) in warnings { log.warning(finding.message, ["service": service]) }
    for url in server.urls { log.info("listening", ["at": url]) }
    for url in adminServer?.urls ?? [] { log.info("listening for the operator", ["at": url]) }
    if let finding = certificate?.validity(at: .now()) {
      switch finding.grade {
      case .good: log.info(finding.message)
      case .doubtful: log.warning(finding.message)
      case .wrong: log.error(finding.message)
      }
    }
  }

  /// The cards of the services that people can open in a browser.
  private static func cards(of services: [any Service]) -> [ServiceCard] {
    services.flatMap { ($0 as? any Presenting)?.cards ?? [] }
  }

  /// The addresses on this machine that a person can open, and what is there.
  var pages: [(url: String, title: String)] {
    guard let url = localURL else { return [] }
    return [(url + "/", "what runs here")]
      + Self.cards(of: services).map { (url + $0.path, $0.title) }
  }

  /// The services' examples, with an address that works on this machine.
  var examples: [ServiceExample] {
    guard let url = localURL else { return [] }
    return services.flatMap { ($0 as? any Demonstrating)?.examples(at: url) ?? [] }
  }

  /// A URL without a path by which this machine reaches the server in plain HTTP; nil if there is none.
  private var localURL: String? {
    for case .tcp(let address, let port) in server.endpoints {
      // The address that stands for all of the machine's: one of them is loopback.
      let isAny = address.bytes.allSatisfy { $0 == 0 }
      let loopback = IPAddress(address.isVersion4 ? "127.0.0.1" : "::1") ?? .loopback
      return "http://\(Endpoint.tcp(isAny ? loopback : address, port: port))"
    }
    return nil
  }

  private static func server(
    _ routers: [Router], at addresses: [ListenAddress], with credentials: TLSCredentials?,
    threads: Int, frontDoor: FrontDoor? = nil, in runtime: ServiceRuntime
  ) throws -> WebServer {
    let configuration = runtime.configuration.server
    let options = try configuration.serverOptions(
      at: addresses, with: credentials, threads: threads)
    let table: RouteTable
    do throws(RouteConflict) {
      table = try RouteTable(
        routers, bodyLimit: configuration.limits.body,
        proxies: TrustedProxies(configuration.trustedProxies), frontDoor: frontDoor?.response,
        log: runtime.log, metrics: runtime.metrics)
    } catch { throw CommandError.refused("routes in conflict: \(error)") }
    return try WebServer(options: options, responder: table) { [log = runtime.log] in
      log.warning($0)
    }
  }
}

extension WebServer {
  /// The URLs that the server listens at, with the ports that it got.
  fileprivate var urls: [String] {
    endpoints.map { "http://\($0)" } + secureEndpoints.map { "https://\($0)" }
  }
}

extension ServerConfiguration {
  /// The options of a server that listens on some addresses.
  func serverOptions(
    at addresses: [ListenAddress], with credentials: TLSCredentials?, threads: Int
  ) throws(CommandError) -> ServerOptions {
    var options = ServerOptions(
      endpoints: addresses.filter { !$0.isSecure }.map(\.endpoint), threads: threads)
    options.secureEndpoints = addresses.filter(\.isSecure).map(\.endpoint)
    options.credentials = credentials
    options.socketAccess = try socketAccess()
    options.head = limits.header
    options.headerTimeout = limits.headerTimeout
    options.idleTimeout = limits.idleTimeout
    options.connections = limits.connections
    options.connectionsPerAddress = limits.connectionsPerAddress
    options.requestsPerAddress = limits.requestsPerAddress
    options.memory = limits.memory
    return options
  }

  /// The access rights of sockets at paths.
  func socketAccess() throws(CommandError) -> SocketAccess {
    guard !socketGroup.isEmpty else { return SocketAccess(mode: socketMode) }
    guard let group = unsafe getgrnam(socketGroup) else {
      throw .refused("server.socket_group: the system has no group \(socketGroup)")
    }
    return unsafe SocketAccess(mode: socketMode, group: group.pointee.gr_gid)
  }
}
