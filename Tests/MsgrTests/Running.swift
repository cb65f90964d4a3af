internal import Formats
internal import Cluster
internal import HTTPProtocol
internal import HTTPServer
internal import Storage
internal import TestSupport
internal import Testing

@testable import Msgr

/// The service behind a server of its own.
final class Running: Sendable {
  let fixture: Fixture
  private let server: WebServer
  let port: UInt16

  /// The work that other nodes' notices ask for.
  private let hearing: Task<Void, Never>

  init(
    _ configuration: String = "", in folder: TemporaryFolder = TemporaryFolder(),
    on location: StoreLocation? = nil, polls: Bool = false
  ) async throws {
    let fixture = try await Fixture(configuration, in: folder, on: location, polls: polls)
    self.fixture = fixture
    hearing = Task {
      await withTaskGroup { group in
        group.addTask { await fixture.service.service.link.run() }
        group.addTask { await fixture.service.topics.run() }
      }
    }
    server = try WebServer(
      options: ServerOptions(endpoints: [.tcp(.loopback, port: 0)], threads: 2),
      responder: fixture.table, report: { _ in })
    try server.start()
    guard case .tcp(_, let port) = try #require(server.endpoints.first) else { fatalError() }
    self.port = port
  }

  func stream(_ token: String?, _ query: String = "") throws -> TestSocket {
    try TestSocket(port: port, target: "/stream\(query)", token: token)
  }

  /// Opens a stream as a page in a browser does.
  func stream(offering subprotocols: String, origin: String?) throws -> TestSocket {
    var fields = HeaderFields()
    if let origin { fields.append(.origin, origin) }
    fields.append(.secWebSocketProtocol, subprotocols)
    return try TestSocket(
      port: port, target: "/msgr/stream", fields: fields, subprotocols: ["msgr.1"])
  }

  func stop() async {
    await server.drain(within: .seconds(1))
    hearing.cancel()
    await fixture.bus.close()
  }
}

/// Runs a service behind a server for the time of a closure.
func withRunning(
  _ configuration: String = "", _ body: (Running) async throws -> Void
) async throws {
  let running = try await Running(configuration)
  do {
    try await body(running)
  } catch {
    await running.stop()
    throw error
  }
  await running.stop()
}

/// Runs nodes that share a PostgreSQL database and their keys for the time of a closure.
func withNodes(
  _ count: Int, _ configuration: String = "", polls: Bool = false,
  _ body: ([Running]) async throws -> Void
) async throws {
  let server = try PostgreSQLServer.shared.get()
  let database = try server.makeDatabase()
  defer { try? server.removeDatabase(database) }
  let location = StoreLocation.postgreSQL(try PostgreSQLAddress(server.url(of: database)))
  let folder = TemporaryFolder()
  var nodes: [Running] = []
  for _ in 0..<count {
    nodes.append(try await Running(configuration, in: folder, on: location, polls: polls))
  }
  let result: Result<Void, any Error>
  do { result = .success(try await body(nodes)) } catch { result = .failure(error) }
  for node in nodes {
    await node.stop()
    await node.fixture.store.close()
  }
  try result.get()
}
