internal import Formats
internal import Cryptography
internal import COpenSSL
internal import Glibc
internal import HTTPProtocol
internal import HTTPServer
internal import Testing
internal import TestSupport

@Suite("TLS") struct TLSTests {
  @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION], ["first", "rsa"])
  func answers(version: Int32, name: String) async throws {
    try await withServer(
      .secure(name),
      plan: { path, head in
        guard path == "/secure" else { return standardPlan(path, head) }
        return .respond(bodyLimit: 0) {
          Response(.ok, type: "text/plain", text: $0.origin.isSecure ? "yes" : "no")
        }
      }
    ) { server in
      for protocols in [[], ["http/1.1"], ["spdy", "http/1.1"]] {
        let client = try server.connectTLS(TLSOptions(version: version, protocols: protocols))
        #expect(client.agreedProtocol == (protocols.isEmpty ? "" : "http/1.1"))
        try client.get("/secure")
        #expect(try client.readResponse().text == "yes")
        let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) }
        for path in ["/echo", "/late"] {
          try client.post(path, body: body)
          #expect(try client.readResponse().body == body)
        }
        try client.get("/n/last", "Connection: close")
        #expect(try client.readResponse().text == "/n/last")
        #expect(try client.readToEnd() == [])
        #expect(client.wasShutInOrder)
      }
      #expect(server.server.statistics.tlsHandshakes == 3)
      #expect(server.server.statistics.tlsFailures == 0)
    }
  }

  @Test func shakesHandsWithManyWhoComeAtOnce() async throws {
    try await withServer(.secure()) { server in
      // Most of them wait for a turn.
      let clients = try (0..<100).map { _ in try server.connect() }
      for client in clients {
        try client.startTLS(try server.tlsConnection(TLSOptions()))
        try client.get("/n/1")
        #expect(try client.readResponse().text == "/n/1")
      }
      #expect(server.server.statistics.tlsHandshakes == 100)
    }
  }

  @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION], ["/echo", "/late"])
  func answersWhatComesTogetherWithTheEnd(version: Int32, path: String) async throws {
    // Nothing but the client's word ends the connection.
    try await withServer(.secure { $0.idleTimeout = .seconds(600) }) { server in
      let client = try server.connectTLS(TLSOptions(version: version))
      let body = [UInt8](repeating: 0x41, count: 20_000)
      try client.endTLS { try client.post(path, body: body) }
      #expect(try client.readResponse().body == body)
      #expect(try client.readToEnd() == [])
      #expect(client.wasShutInOrder)
      client.close()
      #expect(server.eventually { $0.connections == 0 })
      #expect(server.server.statistics.tlsFailures == 0)
    }
  }

  @Test func answersWhatComesTogetherWithTheEndOverHTTP2() async throws {
    try await withServer(.secure { $0.idleTimeout = .seconds(600) }) { server in
      let http2 = try HTTP2Client(server)
      // What is owed for the server's settings is sent before the end.
      try http2.ask(1, "/n/1")
      #expect(try http2.response(1).status == "200")
      http2.opensWindow = false
      try http2.client.endTLS { try http2.ask(3, "/slow/3") }
      #expect(try http2.response(3).text == "/slow/3")
      _ = try http2.client.readToEnd()
      #expect(http2.client.wasShutInOrder)
    }
  }

  @Test func answersPipelinedRequestsInSmallRecords() async throws {
    try await withServer(.secure()) { server in
      let client = try server.connectTLS(TLSOptions(fragment: 512))
      let requests = (0..<200).map { "GET /slow/\($0) HTTP/1.1\r\nHost: t\r\n\r\n" }
      try client.send(requests.joined())
      for index in 0..<200 { #expect(try client.readResponse().text == "/slow/\(index)") }
    }
  }

  @Test(
    arguments: [
      (TLS1_1_VERSION, nil, []), (TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA256", []),
      (TLS1_2_VERSION, "AES128-GCM-SHA256", []), (TLS1_3_VERSION, nil, ["spdy/3"]),
    ] as [(Int32, String?, [String])])
  func refuses(version: Int32, ciphers: String?, protocols: [String]) async throws {
    try await withServer(.secure()) { server in
      #expect(throws: ClientError.self) {
        _ = try server.connectTLS(
          TLSOptions(version: version, protocols: protocols, ciphers: ciphers))
      }
      #expect(server.eventually { $0.tlsFailures == 1 && $0.connections == 0 })
    }
  }

  @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
  func resumesSessions(version: Int32) async throws {
    try await withServer(.secure(threads: 2)) { server in
      var session: OpaquePointer?
      for index in 0..<4 {
        let client = try server.connectTLS(TLSOptions(version: version, session: session))
        #expect(SSL_session_reused(client.tls) == (index == 0 ? 0 : 1))
        try client.get("/n/1")
        #expect(try client.readResponse().text == "/n/1")
        // Without a proper end OpenSSL's client takes the session for broken.
        SSL_set_shutdown(client.tls, SSL_SENT_SHUTDOWN)
        SSL_SESSION_free(session)
        session = SSL_get1_session(client.tls)
        extendLifetime(client)
      }
      SSL_SESSION_free(session)
    }
  }

  @Test func takesNoRenegotiation() async throws {
    try await withServer(.secure()) { server in
      let client = try server.connectTLS(TLSOptions(version: TLS1_2_VERSION))
      SSL_renegotiate(client.tls)
      #expect(SSL_do_handshake(client.tls) != 1 || SSL_renegotiate_pending(client.tls) == 1)
      #expect(server.server.statistics.tlsHandshakes == 1)
    }
  }

  @Test func changesKeysWhenAsked() async throws {
    try await withServer(.secure()) { server in
      let client = try server.connectTLS()
      for index in 0..<20 {
        SSL_key_update(client.tls, SSL_KEY_UPDATE_REQUESTED)
        try client.get("/n/\(index)")
        #expect(try client.readResponse().text == "/n/\(index)")
      }
    }
  }

  @Test(arguments: ["", "\u{16}\u{3}\u{1}", "GET / HTTP/1.1\r\nHost: t\r\n\r\n"])
  func endsWhoShakesNoHands(_ sent: String) async throws {
    try await withServer(.secure { $0.headerTimeout = .milliseconds(400) }) { server in
      let client = try server.connect()
      // Time may be over before it is sent.
      try? client.send(sent)
      _ = try client.endsWithReset()
      client.close()
      #expect(server.eventually { $0.connections == 0 })
      #expect(server.server.statistics.tlsHandshakes == 0)
    }
  }

  @Test func keepsALargeAnswerForASlowReader() async throws {
    let body = Bytes((0..<6_000_000).map { UInt8(truncatingIfNeeded: $0 >> 5) })
    try await withServer(
      .secure(),
      plan: { _, _ in .respond(bodyLimit: 0) { _ in Response(.ok, body: .bytes(body)) } }
    ) { server in
      let client = try server.connectTLS(receiveBuffer: 4096)
      try client.get("/")
      try client.get("/")
      #expect(server.eventually { $0.bytesSent > 10_000 })
      // Time for the server to fill the socket, and to wait for room in it.
      pause(milliseconds: 300)
      #expect(try client.readResponse().body == body.array)
      #expect(try client.readResponse().body == body.array)
    }
  }

  @Test func cutsAReaderWhoIsStuck() async throws {
    let body = Bytes([UInt8](repeating: 1, count: 8 << 20))
    try await withServer(
      .secure {
        $0.rateGrace = .milliseconds(500)
        $0.minimumRate = 100_000
      }, plan: { _, _ in .respond(bodyLimit: 0) { _ in Response(.ok, body: .bytes(body)) } }
    ) { server in
      let client = try server.connectTLS(receiveBuffer: 4096)
      try client.get("/")
      #expect(server.eventually { $0.cutConnections == 1 && $0.connections == 0 })
      extendLifetime(client)
    }
  }

  @Test func carriesWebSockets() async throws {
    try await withServer(.secure()) { server in
      let client = try server.connectTLS(TLSOptions(protocols: ["http/1.1"]))
      try client.upgrade()
      for size in [0, 5, 70_000, 1_000_000] {
        let payload = [UInt8](repeating: 0x41, count: size)
        try client.send(2, payload)
        #expect(try client.readFrame() == Frame(opcode: 2, payload: payload))
      }
      let isOver = server.beginDrain()
      #expect(try client.readFrame() == .close(1001))
      try client.send(8, [0x03, 0xe9])
      #expect(try client.readToEnd() == [])
      #expect(client.wasShutInOrder)
      #expect(TestServer.eventually { isOver.isSet })
    }
  }

  @Test func showsAnotherCertificateWithoutDroppingAnyone() async throws {
    try await withServer(.secure(threads: 2)) { server in
      let client = try server.connectTLS()
      #expect(client.serverName == "first")
      let second = try TestCertificates.shared.get().credentials("second")
      try server.server.use(second)
      #expect(server.server.credentials === second)
      for _ in 0..<4 { #expect(try server.connectTLS().serverName == "second") }
      try client.get("/n/on")
      #expect(try client.readResponse().text == "/n/on")
    }
  }

  @Test(arguments: ["GET", "POST"])
  func tellsWhoSpeaksPlainHTTP(_ method: String) async throws {
    try await withServer(.secure()) { server in
      let client = try server.connect()
      try client.send("\(method) / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")
      let response = try client.readResponse()
      #expect(response.status == 400)
      #expect(response.text.contains("HTTPS"))
      #expect(try client.readToEnd() == [])
      #expect(server.eventually { $0.tlsFailures == 1 && $0.connections == 0 })
    }
  }

  @Test func servesPlainBesideTLS() async throws {
    try await withServer(
      .secure { $0.endpoints = [.tcp(.loopback, port: 0)] }
    ) { server in
      let plain = try server.connect()
      try plain.get("/n/plain")
      #expect(try plain.readResponse().text == "/n/plain")
      guard case .tcp(_, let port)? = server.server.secureEndpoints.first else { return }
      let secure = try TestServer(server: server.server, port: port).connectTLS()
      try secure.get("/n/secure")
      #expect(try secure.readResponse().text == "/n/secure")
    }
  }

  @Test func needsCredentials() throws {
    var options = try ServerOptions.secure()
    options.credentials = nil
    #expect(throws: ServerError.noCredentials(nil)) {
      _ = try WebServer(
        options: options, responder: ClosureResponder(body: standardPlan), report: { _ in })
    }
  }
}
