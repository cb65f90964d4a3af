internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import TestSupport
internal import Testing

@Suite("Requests over sockets", .ownThreads) struct RequestTests {
  @Test func keepsTheConnection() async throws {
    try await withServer { server in
      let client = try server.connect()
      for number in 0..<20 {
        try client.get("/n/\(number)")
        let response = try client.readResponse()
        #expect(response.status == 200)
        #expect(response.text == "/n/\(number)")
        #expect(response.fields["connection"] == nil)
        #expect(response.fields["date"]?.hasSuffix(" GMT") == true)
      }
      #expect(server.server.statistics.accepted == 1)
    }
  }

  @Test func closesWhenAsked() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.get("/n/1", "Connection: close")
      #expect(try client.readResponse().fields["connection"] == "close")
      #expect(try client.readToEnd() == [])
    }
  }

  @Test func speaksHTTP10() async throws {
    try await withServer { server in
      let closing = try server.connect()
      try closing.send("GET /n/1 HTTP/1.0\r\n\r\n")
      let response = try closing.readResponse()
      #expect(response.text == "/n/1")
      #expect(response.fields["connection"] == "close")
      #expect(try closing.readToEnd() == [])

      let keeping = try server.connect()
      for _ in 0..<3 {
        try keeping.send("GET /n/2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(try keeping.readResponse().fields["connection"] == "keep-alive")
      }
    }
  }

  @Test func answersHEADWithoutBody() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.send(
        "HEAD /n/1 HTTP/1.1\r\nHost: t\r\n\r\nHEAD /slow/1 HTTP/1.1\r\nHost: t\r\n\r\n"
          + "HEAD /none HTTP/1.1\r\nHost: t\r\n\r\nGET /n/2 HTTP/1.1\r\nHost: t\r\n\r\n")
      #expect(try client.readResponse(headOnly: true).fields["content-length"] == "4")
      #expect(try client.readResponse(headOnly: true).fields["content-length"] == "7")
      #expect(try client.readResponse(headOnly: true).status == 404)
      #expect(try client.readResponse().text == "/n/2")
    }
  }

  @Test(arguments: ["/echo", "/late"])
  func joinsChunks(path: String) async throws {
    try await withServer { server in
      let client = try server.connect()
      let chunks = "5\r\nhello\r\n1;x=y\r\n \r\n5\r\nworld\r\n0\r\nTrailer: t\r\n\r\n"
      let head = "POST \(path) HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
      try client.send(head + chunks + head + chunks)
      #expect(try client.readResponse().text == "hello world")
      #expect(try client.readResponse().text == "hello world")
      for byte in (head + chunks).utf8 { try client.send([byte]) }
      #expect(try client.readResponse().text == "hello world")
    }
  }

  @Test(arguments: ["/echo", "/late"])
  func takesLargeBodies(path: String) async throws {
    let body = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    try await withServer { server in
      let client = try server.connect()
      for _ in 0..<3 {
        try client.post(path, body: body)
        #expect(try client.readResponse().body == body)
      }
    }
  }

  @Test func asksForTheBody() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.post("/echo", "Content-Length: 5", "Expect: 100-continue")
      #expect(try client.readHead().status == 100)
      try client.send("hello")
      #expect(try client.readResponse().text == "hello")
      // A client that does not wait is not asked.
      try client.post("/late", "Expect: 100-continue", body: Array("again".utf8))
      let response = try client.readResponse()
      #expect(response.status == 200)
      #expect(response.text == "again")
    }
  }

  @Test(arguments: [
    ("/none", "Content-Length: 5", 404), ("/echo", "Content-Length: 9999999", 413),
    ("/ws", "Content-Length: 5", 400), ("/none", "Transfer-Encoding: chunked", 404),
  ])
  func refusesInsteadOfAsking(path: String, framing: String, status: Int) async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.post(path, framing, "Expect: 100-continue")
      let response = try client.readResponse()
      #expect(response.status == status)
      // Whether a body follows is not known, so nothing that follows may be taken for a request.
      #expect(response.fields["connection"] == "close")
      #expect(try client.readToEnd() == [])
    }
  }

  @Test func discardsTheBodyOfARefusedRequest() async throws {
    try await withServer { server in
      let client = try server.connect()
      let smuggled = Array("GET /n/smuggled HTTP/1.1\r\nHost: t\r\n\r\n".utf8)
      try client.post("/none", body: smuggled)
      try client.get("/n/1")
      #expect(try client.readResponse().status == 404)
      #expect(try client.readResponse().text == "/n/1")
    }
  }

  @Test(arguments: [
    "Content-Length: 1000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nF4240\r\n",
  ])
  func refusalOutranksALargeBody(framing: String) async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.send("POST /none HTTP/1.1\r\nHost: t\r\n\(framing)")
      try client.send([UInt8](repeating: 0x61, count: 200_000))
      let response = try client.readResponse()
      #expect(response.status == 404)
      #expect(response.fields["connection"] == "close")
    }
  }

  @Test(arguments: ["/n/1", "/slow/1"])
  func answersAHalfClosedClient(path: String) async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.get(path)
      try client.get(path)
      client.shutdownWriting()
      #expect(try client.readResponse().text == path)
      #expect(try client.readResponse().text == path)
      #expect(try client.readToEnd() == [])
    }
  }

  @Test func sendsALargeResponseToAHalfClosedSlowReader() async throws {
    let large = Bytes([UInt8](repeating: 0x61, count: 8 << 20))
    try await withServer(plan: { path, _ in
      .task(bodyLimit: 0) { _ in Response(.ok, body: .bytes(large)) }
    }) { server in
      let client = try server.connect(receiveBuffer: 4096)
      try client.get("/")
      client.shutdownWriting()
      #expect(try client.readResponse().body.count == large.count)
      #expect(try client.readToEnd() == [])
    }
  }

  @Test(arguments: [
    ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/2.7\r\nHost: t\r\n\r\n", 505),
    ("GET /\r\n\r\n", 400), ("GET / HTTP/1.1\nHost: t\n\n", 400),
    (
      "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
      400
    ),
    ("POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n", 400),
  ])
  func refusesWhatIsMalformed(request: String, status: Int) async throws {
    try await withServer { server in
      let client = try server.connect()
      // Requests before the fault get their responses, those behind it do not.
      try client.send("GET /slow/3 HTTP/1.1\r\nHost: t\r\n\r\n" + request)
      try client.get("/n/behind")
      #expect(try client.readResponse().text == "/slow/3")
      let response = try client.readResponse()
      #expect(response.status == status)
      #expect(response.fields["connection"] == "close")
      #expect(try client.readToEnd() == [])
      #expect(server.server.statistics.refusedRequests == 1)
    }
  }

  @Test func servesUnixSockets() async throws {
    let folder = TemporaryFolder()
    let path = "\(folder.path)/server.sock"
    try await withServer(ServerOptions(endpoints: [.unix(path: path)], threads: 2)) { server in
      for number in 0..<8 {
        let client = try Client(path: path)
        try client.get("/peer")
        #expect(try client.readResponse().text == "")
        try client.get("/slow/\(number)")
        #expect(try client.readResponse().text == "/slow/\(number)")
      }
      #expect(throws: ServerError.cannotListen(.unix(path: path), 98)) {
        let other = try WebServer(
          options: ServerOptions(endpoints: [.unix(path: path)]),
          responder: ClosureResponder(body: standardPlan), report: { _ in })
        try other.start()
      }
    }
    // The file is gone with the server.
    #expect(throws: ClientError.cannotConnect(2)) { try Client(path: path) }
  }

  @Test func tellsThePeer() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.get("/peer")
      #expect(try client.readResponse().text == "127.0.0.1")
    }
  }
}
