// A server on the engine alone, for protocol probes, load and fault tests.
//
//     probe-server --port 9800 --data DIR [--threads 2]
//
// GET /doc.xml    34 KB with validators          GET /gone.xml   410        GET /multi  300
// POST /api/x     takes a JSON object            GET /get?id=I   the value that was put, or 404
// POST /put       {"id","v"}, answered once it is durable in DIR/kv.sqlite3
// /ws             a WebSocket that sends every message back
import Glibc
import HTTPServer
import Storage

var options: [String: String] = [:]
var arguments = CommandLine.arguments.dropFirst()
while let name = arguments.popFirst(), let value = arguments.popFirst() { options[name] = value }

let store = try await Store.open(
  .file((options["--data"] ?? ".") + "/kv.sqlite3"),
  migrations: [
    Migration(
      owner: "probe", number: 1, sql: "CREATE TABLE kv (id TEXT PRIMARY KEY, v TEXT) STRICT")
  ])
let server = try HTTPServer(
  options: ServerOptions(
    endpoints: [.tcp(host: "127.0.0.1", port: UInt16(options["--port"] ?? "") ?? 0)],
    threads: Int(options["--threads"] ?? "") ?? 2),
  responder: ProbeResponder(store: store),
  report: { message in print("probe-server: \(message)") })

var stopSignals = sigset_t()
sigemptyset(&stopSignals)
sigaddset(&stopSignals, SIGTERM)
sigaddset(&stopSignals, SIGINT)
pthread_sigmask(SIG_BLOCK, &stopSignals, nil)

try server.start()
for endpoint in server.endpoints { print("probe-server: listening on \(endpoint)") }
await withCheckedContinuation { continuation in
  let waiter = StopWaiter { continuation.resume() }
  waiter.start(stopSignals)
}
await server.drain(within: Duration.seconds(8))
await store.close()
