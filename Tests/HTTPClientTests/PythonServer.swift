internal import Foundation
internal import Testing

/// Python's `http.server`: an HTTP/1.1 server by others.
final class PythonServer: @unchecked Sendable {
  // Safe to share: nothing is changed after `init`.
  private let process = Process()
  let port: Int

  /// - Parameters:
  ///   - identity: certificate and key of a TLS server, PEM.
  ///   - clientCA: whose certificates clients must show, PEM.
  init(identity: (certificate: String, key: String)? = nil, clientCA: String? = nil) throws {
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "python3", "-c", Self.program, identity?.certificate ?? "", identity?.key ?? "",
      clientCA ?? "",
    ]
    process.standardInput = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    port = try #require(Int(line.trimmingCharacters(in: .whitespacesAndNewlines)))
  }

  deinit { process.terminate() }

  private static let program = """
    import http.server, json, os, ssl, sys, threading
    # Ends with who started it, whose end of the pipe closes then.
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def answer(self):
            n = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(n).decode("latin-1")
            if self.path.startswith("/status/"):
                status = int(self.path[8:11])
                self.send_response(status)
                self.send_header("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
                self.send_header("Location", "/elsewhere")
                if status != 304: self.send_header("Content-Length", "0")
                self.end_headers()
                return
            out = json.dumps({"method": self.command, "path": self.path, "body": body,
                              "peer": self.client_address[1],
                              "fields": self.headers.items()}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("X-Twice", "one"); self.send_header("X-Twice", "  two ")
            self.send_header("Content-Length", str(len(out)))
            self.end_headers()
            if self.command != "HEAD": self.wfile.write(out)
        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_BREW = answer
        def log_message(self, *a): pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    certificate, key, ca = sys.argv[1:4]
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        if ca:
            context.load_verify_locations(ca); context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    server.serve_forever()
    """
}
