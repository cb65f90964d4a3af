internal import Formats
internal import ApptimistProtocol
internal import Cluster
internal import Configuration
internal import Cryptography
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Routing
internal import ServiceKit
internal import Storage
internal import Synchronization
internal import TestSupport
internal import Testing
internal import Platform

@testable import Apptimist

/// The service on a port and over a database of its own; refused sessions are closed at once.
struct TestServer: Sendable {
  let folder: TemporaryFolder
  let store: Store
  let service: ApptimistService
  let http: WebServer
  let metrics: Metrics
  let port: UInt16
  let identity: ServiceIdentity
  /// The service's work in the background, where nodes share the store.
  let background: Task<Void, any Error>?
  let bus: any Bus
  let node: NodeID

  /// Starts the service.
  ///
  /// - Parameters:
  ///   - location: the place of the store, or nil for the folder's own.
  ///   - polls: whether the node hears nothing from others.
  static func start(
    _ keys: String = "", in folder: TemporaryFolder? = nil, publicURL: String? = nil,
    on location: StoreLocation? = nil, polls: Bool = false
  ) async throws -> TestServer {
    let folder = folder ?? TemporaryFolder()
    let location = try location ?? TestStore.location("\(folder.path)/awd.sqlite3")
    let store = try await Store.open(location, migrations: ApptimistService.migrations)
    let toml = "[apptimist]\nrefusal_min = \"0s\"\nrefusal_max = \"0s\"\n\(keys)"
    let (made, configuration) = try Self.context(toml, folder, store, publicURL: publicURL)
    var context = made
    if case .postgreSQL(let address) = location {
      try await sendHeartbeat(context.node, store)
      context.bus =
        polls
        ? PollingBus(every: .milliseconds(100))
        : try await PostgreSQLBus(
          address, seal: registry(context.node, store).seal { .now() },
          poll: .seconds(2), log: context.log)
    }
    let service = try await ApptimistService(context, configuration)
    let background = store.isShared ? Task { try await service.run() } : nil
    var router = Router(service: ApptimistService.name)
    service.register(on: &router)
    let http = try WebServer(
      options: ServerOptions(endpoints: [.tcp(.loopback, port: 0)], threads: 2),
      responder: try RouteTable([router], log: context.log)
    ) { _ in }
    try http.start()
    guard case .tcp(_, let port)? = http.endpoints.first else {
      throw TestDevice.Failure(message: "no port")
    }
    let keys = try KeyFile(path: "\(folder.path)/apptimist.keys").existing()
    return TestServer(
      folder: folder, store: store, service: service, http: http, metrics: context.metrics,
      port: port, identity: keys.identity, background: background, bus: context.bus,
      node: context.node)
  }

  static func context(
    _ toml: String, _ folder: TemporaryFolder, _ store: Store, publicURL: String? = nil
  ) throws -> (ServiceContext, ApptimistConfiguration) {
    let text = "[server]\ndata = \"\(folder.path)\"\n\(toml)"
    let reader = ConfigurationReader(
      try ConfigurationDocument(parsing: Array(text.utf8), file: "\(folder.path)/awd.toml"))
    _ = ServerConfiguration(reader, knownServices: [ApptimistService.name])
    let section = reader.section("apptimist")
    let configuration = ApptimistConfiguration(section)
    try section.finish()
    let context = ServiceContext(
      store: store, log: Log(level: .error, descriptor: -1), dataFolder: folder.path,
      publicURL: publicURL)
    return (context, configuration)
  }

  /// Records that the node is alive.
  func sendHeartbeat() async throws { try await Self.sendHeartbeat(node, store) }

  private static func sendHeartbeat(_ node: NodeID, _ store: Store) async throws {
    try await registry(node, store).sendHeartbeat()
  }

  private static func registry(_ node: NodeID, _ store: Store) -> NodeRegistry {
    NodeRegistry(node, named: "test", version: "1", in: store)
  }

  func stop() async {
    await http.drain(within: .seconds(1))
    background?.cancel()
    await bus.close()
    await store.close()
  }
}

/// Runs a test against the service, and stops it.
func withServer(
  _ configuration: String = "", in folder: TemporaryFolder? = nil, publicURL: String? = nil,
  _ body: (TestServer) async throws -> Void
) async throws {
  let server = try await TestServer.start(configuration, in: folder, publicURL: publicURL)
  do {
    try await body(server)
  } catch {
    await server.stop()
    throw error
  }
  await server.stop()
}

/// Runs a test against nodes that share a PostgreSQL database and their keys, and stops them.
func withNodes(
  _ count: Int, _ configuration: String = "", polls: Bool = false,
  _ body: ([TestServer]) async throws -> Void
) async throws {
  let server = try PostgreSQLServer.shared.get()
  let database = try server.makeDatabase()
  defer { try? server.removeDatabase(database) }
  let location = StoreLocation.postgreSQL(try PostgreSQLAddress(server.url(of: database)))
  let folder = TemporaryFolder()
  var nodes: [TestServer] = []
  for _ in 0..<count {
    nodes.append(
      try await TestServer.start(configuration, in: folder, on: location, polls: polls))
  }
  let result: Result<Void, any Error>
  do { result = .success(try await body(nodes)) } catch { result = .failure(error) }
  for node in nodes { await node.stop() }
  try result.get()
}
