// A server on the engine alone, for protocol probes, load and fault tests.
//
//     probe-server --port 9800 --data DIR [--threads 2] [--tls 9801]
//
// With --tls, DIR/server.pem and DIR/server.key are the certificate and its key.
// GET /doc.xml    34 KB with validators          GET /gone.xml   410        GET /multi  300
// POST /api/x     takes a JSON object            GET /get?id=I   the value that was put, or 404
// POST /put       {"id","v"}, responds once it is durable in DIR/kv.sqlite3
// /ws             a WebSocket that sends every message back
internal import Glibc

// Before any other thread exists: threads inherit what is blocked. The main thread waits for the signal itself, as an
// asynchronous main would wait with all signals let through.
var stopSignals = sigset_t()
sigemptyset(&stopSignals)
sigaddset(&stopSignals, SIGTERM)
sigaddset(&stopSignals, SIGINT)
pthread_sigmask(SIG_BLOCK, &stopSignals, nil)

var options: [String: String] = [:]
var arguments = CommandLine.arguments.dropFirst()
while let name = arguments.popFirst(), let value = arguments.popFirst() { options[name] = value }
let probe = ProbeServer(
  data: options["--data"] ?? ".", port: UInt16(options["--port"] ?? "") ?? 0,
  threads: Int(options["--threads"] ?? "") ?? 2, securePort: options["--tls"].flatMap { UInt16($0) }
)

let (stopped, stop) = AsyncStream.makeStream(of: Void.self)
Task.detached {
  do {
    try await probe.serve(until: stopped)
    exit(0)
  } catch {
    print("probe-server: \(error)")
    exit(1)
  }
}
var number: Int32 = 0
sigwait(&stopSignals, &number)
stop.finish()
while true { pause() }
