internal import Formats
internal import Cluster
internal import Configuration
internal import FoundationEssentials
internal import Observability
internal import WebApps
internal import Push
internal import ServiceKit
internal import Storage
internal import Platform

/// The open store, the log and the metrics that all services of the process share.
struct ServiceRuntime: Sendable {
  let configuration: LoadedConfiguration
  let store: Store
  /// This process among those that share the store.
  let node: StoreNode
  let bus: any Bus
  let log: Log
  let metrics: Metrics
  let pushes: Pushes
  /// The free disk of the store.
  let disk: DiskReserve
  /// The file of the store, if it is one.
  let storeFile: StoreFile

  /// The number of event loops.
  var loops: Int { configuration.server.threads ?? Processors.count }

  /// Opens the store. Only a server makes one that is missing.
  ///
  /// - Parameters:
  ///   - services: all services that are built in.
  ///   - onlyToRead: whether a missing file is replaced by an empty store in memory.
  ///   - isServing: whether the process is one of the nodes. What another one changes they see by looking.
  ///   - trustsClock: whether rows are deleted by the system's clock, however little time has passed for sure.
  /// - Throws: ``CommandError`` that says what is wrong and how to mend it, or ``DatabaseAway`` for a server that may
  ///   wait.
  static func open(
    _ configuration: LoadedConfiguration, services: [any Service.Type], log: Log,
    onlyToRead: Bool = false, isServing: Bool = false, trustsClock: Bool = false
  ) async throws -> ServiceRuntime {
    let server = configuration.server
    if !isServing, let path = server.store.path, !DataFolder.exists(path) {
      if !onlyToRead { try DataFolder.requireStore(at: path, orElse: wayToAStore) }
      return try await open(
        .memory, configuration, services, log, isServing: isServing, trustsClock: trustsClock)
    }
    do {
      return try await open(
        configuration.store, configuration, services, log, isServing: isServing,
        trustsClock: trustsClock)
    } catch is StoreMissing {
      guard onlyToRead else {
        throw CommandError.refused("there is no store at \(server.store.place): \(wayToAStore)")
      }
      return try await open(
        .memory, configuration, services, log, isServing: isServing, trustsClock: trustsClock)
    }
  }

  private static let wayToAStore =
    "the server makes it at its first start, or name another configuration with --config"

  private static func open(
    _ location: StoreLocation, _ configuration: LoadedConfiguration,
    _ services: [any Service.Type], _ log: Log, isServing: Bool, trustsClock: Bool
  ) async throws -> ServiceRuntime {
    let server = configuration.server
    do {
      // All services' migrations, so that the schema doesn't depend on what is switched on.
      let store = try await Store.open(
        location, migrations: services.migrations,
        configuration: StoreConfiguration(
          connections: isServing ? server.store.connections : 1,
          lanes: isServing ? server.store.lanes : 1, makesTables: isServing))
      let node = try await StoreNode(
        in: store, at: location, named: server.nodeName,
        keyFiles: configuration.keyFiles(of: configuration.services(among: services)),
        trustsClock: trustsClock)
      let metrics = Metrics()
      let pushes = Pushes(
        configuration.push, store: store, log: log.with(["service": "push"]), metrics: metrics,
        clock: node.now, publicURL: server.publicURL?.description)
      return ServiceRuntime(
        configuration: configuration, store: store, node: node,
        bus: try await bus(of: node, configuration, isServing: isServing, log: log), log: log,
        metrics: metrics, pushes: pushes,
        disk: DiskReserve(
          of: server.store.path.map(DurableFile.folder), mark: server.diskReserve),
        storeFile: StoreFile(at: server.store.path))
    } catch let error as StoreMissing {
      throw error
    } catch {
      if isServing, let away = DatabaseAway(error) { throw away }
      let advice = StoreCheck.advice(on: error, at: server.store.path)
      throw CommandError.refused("the store \(server.store.place): \(advice)")
    }
  }

  private static func bus(
    of node: StoreNode, _ configuration: LoadedConfiguration, isServing: Bool, log: Log
  ) async throws -> any Bus {
    guard isServing, case .postgreSQL(let address) = configuration.store,
      let seal = try await node.seal
    else { return NoBus() }
    let interval = configuration.server.bus.poll
    switch configuration.server.bus.kind {
    case .poll: return PollingBus(every: interval)
    case .store:
      return try PostgreSQLBus(address, seal: seal, poll: interval, log: log)
    }
  }

  /// The pages for the operator, with URLs that work on this machine.
  private var operatorPages: [PageLink] {
    let endpoint = configuration.server.adminListen?.endpoint
    // Browsers don't open Unix-domain sockets.
    if case .unix = endpoint { return [] }
    let base = endpoint.map { "http://\($0)" } ?? ""
    return [PageLink("Status of the server", url: base + StatusPage.path)]
  }

  /// Makes the context of a service.
  ///
  /// - Parameter service: a service that is switched on or was included in the configuration.
  func context(for service: any Service.Type) -> ServiceContext {
    ServiceContext(
      store: store, pushes: pushes, bus: bus, node: node.id,
      log: log.with(["service": service.name]),
      metrics: metrics,
      clock: node.now, expiry: node.expiry,
      dataFolder: configuration.server.data, disk: disk, serverName: configuration.server.name,
      publicURL: configuration.server.publicURL?.description, operatorPages: operatorPages,
      contents: node.contents, hosts: configuration.hosts(of: service),
      bodyLimit: configuration.server.limits.body, loops: loops)
  }

  /// Commits the writes that are queued, notifies other nodes of them, closes the store, and waits for the log.
  func leave() async {
    await node.leave()
    await close()
  }

  /// Closes what the process has opened.
  func close() async {
    await bus.close()
    await store.close()
    log.flush()
  }
}
