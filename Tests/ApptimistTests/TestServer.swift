internal import ApptimistProtocol
internal import Configuration
internal import Cryptography
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import ServiceKit
internal import Storage
internal import Synchronization
internal import Testing
internal import TestSupport

@testable import Apptimist

/// The service on a port and over a database of its own; refused sessions are closed at once.
struct TestServer: Sendable {
  let folder: TemporaryFolder
  let store: Store
  let service: ApptimistService
  let http: HTTPServer
  let metrics: Metrics
  let port: UInt16
  let identity: ServiceIdentity

  /// Starts the service.
  static func start(
    _ configuration: String = "", in folder: TemporaryFolder? = nil, publicURL: String? = nil
  ) async throws -> TestServer {
    let folder = folder ?? TemporaryFolder()
    let store = try await Store.open(
      .file("\(folder.path)/awd.sqlite3"), migrations: ApptimistService.migrations)
    let toml = "[apptimist]\nrefusal_min = \"0s\"\nrefusal_max = \"0s\"\n\(configuration)"
    let context = try Self.context(toml, folder, store, publicURL: publicURL)
    let service = try await ApptimistService(context)
    var router = Router(service: ApptimistService.name)
    service.register(on: &router)
    let http = try HTTPServer(
      options: ServerOptions(endpoints: [.tcp(host: "127.0.0.1", port: 0)], threads: 2),
      responder: try RouteTable([router], log: context.log)
    ) { _ in }
    try http.start()
    guard case .tcp(_, let port)? = http.endpoints.first else {
      throw TestDevice.Failure(message: "no port")
    }
    let keys = try KeyFile(path: "\(folder.path)/apptimist.keys").existing()
    return TestServer(
      folder: folder, store: store, service: service, http: http, metrics: context.metrics,
      port: port, identity: keys.identity)
  }

  static func context(
    _ toml: String, _ folder: TemporaryFolder, _ store: Store, publicURL: String? = nil
  ) throws -> ServiceContext {
    let text = "[server]\ndata = \"\(folder.path)\"\n\(toml)"
    let reader = ConfigurationReader(
      try ConfigurationDocument(parsing: Array(text.utf8), file: "\(folder.path)/awd.toml"))
    _ = ServerConfiguration(reader, knownServices: [ApptimistService.name])
    let section = reader.section("apptimist")
    ApptimistService.validate(section)
    try section.finish()
    return ServiceContext(
      configuration: section, store: store, log: Log(level: .error, descriptor: -1),
      dataFolder: folder.path, publicURL: publicURL)
  }

  func stop() async {
    await http.drain(within: .seconds(1))
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
