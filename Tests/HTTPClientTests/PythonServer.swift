internal import TestSupport
internal import Testing

/// Python's `http.server`: an HTTP/1.1 server by others.
final class PythonServer: Sendable {
  private let process: ChildProcess
  let port: Int

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - identity: the certificate and key of a TLS server; without TLS if nil.
  ///   - clientCA: the PEM file of the authority that certifies clients; nil admits clients without a certificate.
  init(identity: TestCertificates.Pair? = nil, clientCA: String? = nil) throws {
    process = try ChildProcess(
      "python3",
      ["-c", Self.program, identity?.certificate ?? "", identity?.key ?? "", clientCA ?? ""],
      input: nil)
    port = try #require(Int(process.line(with: "\n", on: .output)))
  }

  private static let program = """
    import http.server, json, os, ssl, sys, threading
    # Ends with the tests, whose end of the pipe closes then.
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
