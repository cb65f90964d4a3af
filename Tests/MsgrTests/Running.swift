internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing

@testable import Msgr

/// The service behind a server of its own.
final class Running: Sendable {
  let fixture: Fixture
  private let server: HTTPServer
  let port: UInt16

  init(_ configuration: String = "") async throws {
    fixture = try await Fixture(configuration)
    server = try HTTPServer(
      options: ServerOptions(endpoints: [.tcp(host: "127.0.0.1", port: 0)], threads: 2),
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

  func stop() async { await server.drain(within: .seconds(1)) }
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
