internal import Configuration
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Routing
internal import TestSupport
internal import Testing

@Suite struct RouteTableTests {
  private static func repository() -> Router {
    var router = Router(service: "repository")
    router.get("/", echo("index"))
    router.get("/{address}", echo("bare", "address"))
    router.get(
      "/{year:digits(4)}/{month:digits(2)}/{address}", echo("exact", "year", "month", "address"))
    router.get("/{year:digits(4)}/{month:digits(2)}/tokenscript.xsd", echo("schema", "year"))
    router.get("/{year:digits(4)}/{month:digits(2)}/x/{file...}", echo("rest", "file"))
    router.get("/a/{b}/c", echo("abc", "b"))
    router.get("/{a}/b/d", echo("abd", "a"))
    router.get("/trailing/", echo("trailing"))
    return router
  }

  @Test(
    arguments: [
      ("/", "index"), ("/0xAB", "bare 0xAB"), ("/healthz", "bare healthz"),
      ("/2019/05/0xab", "exact 2019 05 0xab"), ("/2019/05/tokenscript.xsd", "schema 2019"),
      ("/2019/05/x/1", "rest 1"), ("/2019/05/x/1/2/3", "rest 1/2/3"),
      ("/2019/05/x", "exact 2019 05 x"),
      ("/201/05/0xab", nil), ("/20190/05/0xab", nil), ("/2019/5/0xab", nil), ("/2019/0a/0xab", nil),
      ("/a/b/c", "abc b"), ("/a/b/d", "abd a"), ("/a/b/e", nil), ("//", nil), ("/0xab/", nil),
      ("/2019/05/", nil), ("/2019/05/x/", nil), ("/trailing/", "trailing"),
      ("/trailing", "bare trailing"),
      ("/.", nil), ("/..", nil), ("/%2e%2E", nil), ("/2019/05/x/../y", nil),
      ("/2019/05/x/a%2f..%2fb", nil),
      ("/%30xAB", "bare 0xAB"), ("/a%2Fb", "bare a/b"), ("/%61/b/c", "abc b"),
      ("/%32019/05/q", "exact 2019 05 q"),
      ("/%ff", "bare not UTF-8"), ("/x?y=/z", "bare x"), ("/2019/05/x/a%20b/c", "rest a b/c"),
    ] as [(String, String?)])
  func path(_ path: String, _ expected: String?) async throws {
    let response = try await table(Self.repository()).send(.get, path)
    #expect(response.status == (expected == nil ? .notFound : .ok))
    #expect(response.text == expected ?? "")
  }

  @Test(
    arguments: [
      ("/0xAB", "address 0xAB"), ("/0XAB", "address 0XAB"), ("/%30%58AB", "address 0XAB"),
      ("/0x", "address 0x"), ("/0xab/tail", "address below 0xab"),
      ("/0xff", "longer 0xff"), ("/0XFFf", "longer 0XFFf"), ("/0x1", "literal"),
      ("/0", nil), ("/x0x", nil), ("/%10xAB", nil), ("/message", nil), ("/0xab/other", nil),
      ("/7777", "digits 7777"), ("/any/0xab", "address 0xab"), ("/any/ab", "any ab"),
    ] as [(String, String?)])
  func whatAPrefixMatches(_ path: String, _ expected: String?) async throws {
    var router = Router(service: "repository")
    router.get("/{address:prefix(0x)}", echo("address", "address"))
    router.get("/{address:prefix(0x)}/tail", echo("address below", "address"))
    router.get("/{address:prefix(0XFF)}", echo("longer", "address"))
    router.get("/0x1", echo("literal"))
    router.get("/{number:digits(4)}", echo("digits", "number"))
    router.get("/any/{address:prefix(0x)}", echo("address", "address"))
    router.get("/any/{name}", echo("any", "name"))
    let table = try table(router)
    let response = try await table.send(.get, path)
    #expect(response.status == (expected == nil ? .notFound : .ok))
    #expect(response.text == expected ?? "")
    // Without a matching pattern, no method is allowed either.
    let post = try await table.send(.post, path)
    #expect(post.status == (expected == nil ? .notFound : .methodNotAllowed))
  }

  @Test(arguments: ["/%", "/%4", "/%zz", "/a/%4/c"])
  func malformedEncodingIsRefused(_ path: String) async throws {
    #expect(try await table(Self.repository()).send(.get, path).status == .badRequest)
  }

  @Test func anExactPathOfOneServiceBeatsThePatternOfAnother() async throws {
    var other = Router(service: "msgr")
    other.on([.post], "/register", echo("register"))
    let table = try table(Self.repository(), other)
    #expect(try await table.send(.post, "/register").text == "register")
    #expect(try await table.send(.get, "/registers").text == "bare registers")
    // The exact path is known, so the pattern's GET isn't used.
    let refused = try await table.send(.get, "/register")
    #expect(refused.status == .methodNotAllowed)
    #expect(refused.fields.first(.allow) == "OPTIONS, POST")
  }

  @Test func methods() async throws {
    var router = Router(service: "x")
    router.get("/p", echo("get"))
    router.on([.put, .delete], "/p", echo("change"))
    router.get("/own", echo("get"))
    router.on([.head], "/own") { _, _ in Response(.noContent) }
    router.optionsFields?.append(FieldName("Access-Control-Allow-Origin"), "*")
    router.errorFields.append(FieldName("X-Error"), "1")
    let table = try table(router)
    let head = try await table.send(.head, "/p")
    #expect(head.status == .ok && head.text.isEmpty)
    #expect(head.fields.first(.contentType) == "text/plain")
    #expect(try await table.send(.head, "/own").status == .noContent)
    #expect(try await table.send(.delete, "/p").text == "change")
    let allow = "DELETE, GET, HEAD, OPTIONS, PUT"
    for method in [Method.post, .patch, .trace, .other("BREW")] {
      let refused = try await table.send(method, "/p")
      #expect(refused.status == .methodNotAllowed)
      #expect(refused.fields.first(.allow) == allow)
      #expect(refused.fields.first(FieldName("X-Error")) == "1")
    }
    let options = try await table.send(.options, "/p")
    #expect(options.status == .noContent && options.fields.first(.allow) == allow)
    #expect(options.fields.first(FieldName("Access-Control-Allow-Origin")) == "*")
    #expect(try await table.send(.options, "/unknown").status == .notFound)
    let all = try await table.send(.options, "*")
    #expect(all.status == .noContent && all.fields.first(.allow) == allow)
  }

  @Test func aServiceCanDoWithoutOptions() async throws {
    var router = Router(service: "msgr")
    router.optionsFields = nil
    router.errorStyle = .json
    router.on([.post], "/login", echo("in"))
    for method in [Method.get, .options] {
      let refused = try await table(router).send(method, "/login")
      #expect(refused.status == .methodNotAllowed && refused.fields.first(.allow) == "POST")
      #expect(refused.text == #"{"error":"Method Not Allowed"}"#)
    }
  }

  @Test func whereOnlyOptionsAreAnsweredIsNothing() async throws {
    var router = Router(service: "x")
    router.on([.options], "/{name}") { _, _ in Response(.ok) }
    let table = try table(router)
    #expect(try await table.send(.options, "/a").status == .ok)
    for method in [Method.get, .post] {
      #expect(try await table.send(method, "/a").status == .notFound)
    }
  }

  @Test func hosts() async throws {
    var repository = Router(
      service: "repository", hosts: ["Repo.example", "[::1]"].compactMap { HostName($0) })
    repository.get("/{address}", echo("repository"))
    var general = Router(service: "general")
    general.get("/{page}", echo("general"))
    general.get("/healthz", echo("ok"))
    let table = try table(repository, general)
    for (host, text) in [
      ("repo.example", "repository"), ("REPO.example:8080", "repository"),
      ("[::1]:1", "repository"),
      ("other.example", "general"), ("x.repo.example", "general"),
    ] {
      #expect(try await table.send(.get, "/x", host: host).text == text)
      #expect(try await table.send(.get, "/healthz", host: host).text == "ok")
    }
  }

  @Test func conflictsNameServicesAndPatterns() throws {
    func router(_ service: String, _ pattern: String, hosts: [String] = []) -> Router {
      var router = Router(service: service, hosts: hosts.compactMap { HostName($0) })
      router.get(pattern, echo(service))
      return router
    }
    let error = #expect(throws: RouteConflict.self) {
      try table(router("one", "/{a}"), router("two", "/{b}"))
    }
    for part in ["one (/{a})", "two (/{b})"] { #expect(error?.description.contains(part) == true) }
    #expect(throws: RouteConflict.self) {
      try table(router("one", "/x", hosts: ["a", "b"]), router("two", "/x", hosts: ["b"]))
    }
    #expect(throws: Never.self) {
      try table(router("one", "/{a}"), router("two", "/{b:digits(4)}"), router("three", "/c"))
    }
    #expect(throws: Never.self) {
      try table(
        router("one", "/x", hosts: ["a"]), router("two", "/x", hosts: ["b"]), router("three", "/x"))
    }
    var twice = router("one", "/x")
    twice.webSocket("/x") { _, _ in throw HTTPError(.forbidden) }
    #expect(throws: RouteConflict.self) { try table(twice) }
  }

  @Test func bodiesAreLimitedPerRoute() async throws {
    var router = Router(service: "x")
    router.errorStyle = .json
    router.on([.post], "/small", echo("small"))
    router.on([.post], "/large", bodyLimit: 1000, echo("large"))
    let table = try table(router)
    func status(_ path: String, _ count: Int) async throws -> Status {
      let fields = [(name: "Content-Length", value: String(count))]
      let body = [UInt8](repeating: 0, count: count)
      return try await table.send(.post, path, fields: fields, body: body).status
    }
    #expect(try await status("/small", 100) == .ok)
    #expect(try await status("/small", 101) == .contentTooLarge)
    #expect(try await status("/large", 1000) == .ok)
    #expect(try await status("/large", 1001) == .contentTooLarge)
  }

  @Test func theKindOfHandlerDecidesHowItIsRun() throws {
    var router = Router(service: "x")
    router.get("/inline") { _, _ in Response(.ok) }
    router.get("/task") { _, _ in
      await Task.yield()
      return Response(.ok)
    }
    let table = try table(router)
    func plan(_ path: String) throws -> RequestPlan {
      table.plan(
        for: try RequestHead(method: .get, path: path, authority: "h"),
        from: RequestOrigin(peer: "127.0.0.1"))
    }
    let (inline, task) = (try plan("/inline"), try plan("/task"))
    guard case .respond = inline, case .task = task else {
      Issue.record("\(inline), \(task)")
      return
    }
  }

  /// What a screen refuses never gets a body read, and is answered in the service's own style.
  @Test func aScreenRefusesByTheHead() throws {
    var router = Router(service: "x")
    router.errorStyle = .own { Response($0.status, type: "text/x", text: $0.message) }
    router.on(
      [.post], "/a",
      screen: { head, origin throws(HTTPError) in
        guard origin.peer == "127.0.0.1", head.first(.origin) != nil else {
          throw HTTPError(.tooManyRequests, "no", retryAfter: 2)
        }
      }
    ) { _, _ in
      await Task.yield()
      return Response(.ok)
    }
    let table = try table(router)
    func plan(_ fields: [(name: String, value: String)], from peer: String) throws -> RequestPlan {
      let head = try RequestHead(method: .post, path: "/a", authority: "h", fields: fields)
      return table.plan(for: head, from: RequestOrigin(peer: peer))
    }
    guard case .task = try plan([("Origin", "x")], from: "127.0.0.1") else {
      Issue.record("not let through")
      return
    }
    for (fields, peer) in [([], "127.0.0.1"), ([("Origin", "x")], "127.0.0.2")] {
      guard case .refuse(let response) = try plan(fields, from: peer) else {
        Issue.record("not refused")
        continue
      }
      #expect(response.status == .tooManyRequests)
      #expect(response.fields.first(.retryAfter) == "2")
      #expect(response.fields.first(.contentType) == "text/x")
    }
  }

  @Test func webSockets() async throws {
    final class Silent: WebSocketHandler {
      func received(_ message: WebSocketMessage) {}
      func closed(_ code: UInt16?) {}
    }
    var router = Router(service: "x")
    router.webSocket("/{room}") { _, parameters in
      guard parameters.text("room") == "open" else { throw HTTPError(.unauthorized, "no") }
      return WebSocketAcceptance { _ in Silent() }
    }
    let table = try table(router)
    let upgrade = [
      (name: "Connection", value: "Upgrade"), (name: "Upgrade", value: "websocket"),
      (name: "Sec-WebSocket-Version", value: "13"),
      (name: "Sec-WebSocket-Key", value: "dGhlIHNhbXBsZSBub25jZQ=="),
    ]
    #expect(try await table.send(.get, "/open", fields: upgrade).status == .switchingProtocols)
    #expect(try await table.send(.get, "/shut", fields: upgrade).status == .unauthorized)
    let plain = try await table.send(.get, "/open")
    #expect(plain.status == .upgradeRequired && plain.fields.first(.upgrade) == "websocket")
  }

  @Test func requestsAreCountedByRouteAndStatus() async throws {
    let metrics = Metrics()
    let table = try table(Self.repository(), metrics: metrics)
    for path in ["/0xab", "/0xcd", "/2019/05/x/y", "/no/such"] {
      _ = try await table.send(.get, path)
    }
    let text = metrics.render()
    let name = "awd_http_requests_total"
    for line in [
      #"\#(name){service="repository",route="/{address}",method="GET",status="200"} 2"#,
      #"\#(name){service="none",route="none",method="any",status="404"} 1"#,
      #"awd_http_request_duration_seconds_count{service="repository"} 3"#,
    ] {
      #expect(text.contains(line + "\n"))
    }
  }
}
