internal import Formats
package import HTTPServer

/// Runs a server on a free port of 127.0.0.1 for the time of a closure, and drains it.
///
/// - Parameters:
///   - responder: answers the requests.
///   - body: takes the server's URL, without a slash at its end.
package func withServer(
  _ responder: any Responder, _ body: (String) async throws -> Void
) async throws {
  let server = try WebServer(
    options: ServerOptions(endpoints: [.tcp(.loopback, port: 0)]), responder: responder,
    report: { _ in })
  try server.start()
  do {
    try await body("http://\(server.endpoints[0])")
  } catch {
    await server.drain(within: .zero)
    throw error
  }
  await server.drain(within: .zero)
}
