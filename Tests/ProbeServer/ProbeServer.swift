internal import Formats
internal import Cryptography
internal import FoundationEssentials
internal import HTTPServer
internal import Storage

/// The server and its store.
struct ProbeServer: Sendable {
  let data: String
  let port: UInt16
  let threads: Int
  /// A port that speaks TLS, with the certificate and key in `data`; nil: none.
  let securePort: UInt16?

  /// Serves until the stream ends, then finishes what runs.
  func serve(until stopped: AsyncStream<Void>) async throws {
    let store = try await Store.open(
      .file(data + "/kv.sqlite3"),
      migrations: [
        Migration(
          owner: "probe", number: 1, sql: "CREATE TABLE kv (id TEXT PRIMARY KEY, v TEXT) STRICT")
      ])
    var options = ServerOptions(
      endpoints: [.tcp(.loopback, port: port)], threads: threads)
    if let securePort {
      options.secureEndpoints = [.tcp(.loopback, port: securePort)]
      options.credentials = try TLSCredentials(
        certificate: contents("server.pem"), key: contents("server.key"))
    }
    let server = try WebServer(
      options: options, responder: ProbeResponder(store: store),
      report: { message in print("probe-server: \(message)") })
    try server.start()
    for endpoint in server.endpoints + server.secureEndpoints {
      print("probe-server: listening on \(endpoint)")
    }
    for await _ in stopped {}
    await server.drain(within: Duration.seconds(8))
    await store.close()
  }

  private func contents(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: "\(data)/\(name)")))
  }
}
