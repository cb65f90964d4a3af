internal import Configuration
internal import Glibc
internal import HTTPProtocol
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import TokenScriptRepo

/// Tests of requests through the router to a repository of unsigned files.
struct TokenScriptServiceTests {
  private static let unsigned = "signature = \"off\"\ntrust = \"off\""
  let fixture: RepositoryFixture

  init() throws { fixture = try RepositoryFixture() }

  private func server(_ toml: String = "", store: Store? = nil) async throws -> RepositoryServer {
    try await fixture.server(Self.unsigned + "\n" + toml, store: store)
  }

  @Test func aFileIsServedByteForByteWithItsFields() async throws {
    let text = tokenScript(for: alice) + "<!-- \u{1F600} -->\r\n"
    try fixture.write("a.tsml", text, modified: 1_500_000_000)
    let server = try await server()
    for path in ["/\(alice)", "/2019/05/\(alice)", "/2019/05/0x\(alice.dropFirst(2).uppercased())"]
    {
      let response = try await server.get(path)
      #expect(response.status == .ok)
      #expect(response.text == text)
      #expect(response[.contentType] == "text/xml; charset=UTF-8")
      #expect(response[.lastModified] == "Fri, 14 Jul 2017 02:40:00 GMT")
      #expect(response[.entityTag]?.hasPrefix("\"") == true)
      #expect(response[.cacheControl] == "no-cache")
      #expect(response[.vary] == "Accept, Accept-Encoding")
      #expect(response[.accessControlAllowOrigin] == "*")
      #expect(response[.accessControlExposeHeaders] == "ETag, Last-Modified, Link")
      #expect(response[.contentTypeOptions] == "nosniff")
      #expect(response[.contentSecurityPolicy] == "sandbox; default-src 'none'")
    }
  }

  @Test(arguments: [
    (nil, "text/xml"), ("*/*", "text/xml"), ("text/xml; charset=UTF-8", "text/xml"),
    ("application/tokenscript+xml; charset=UTF-8", "application/tokenscript+xml"),
    ("application/tokenscript+xml;q=0", "text/xml"),
    ("application/tokenscript+xml;q=0.5, text/xml", "text/xml"),
    ("text/xml;q=0.5, Application/TokenScript+XML;q=0.5", "application/tokenscript+xml"),
    ("application/*", "text/xml"), ("text/html", "text/xml"),
  ])
  func theTypeIsTheOneAskedFor(accept: String?, type: String) async throws {
    try fixture.write("a.tsml", tokenScript(for: alice))
    let response = try await server().get("/\(alice)", accept.map { ["Accept": $0] } ?? [:])
    #expect(response.status == .ok)
    #expect(response[.contentType] == "\(type); charset=UTF-8")
  }

  @Test func conditionsAreHeeded() async throws {
    try fixture.write("a.tsml", tokenScript(for: alice), modified: 1_500_000_000)
    let server = try await server()
    let tag = try #require(try await server.get("/\(alice)")[.entityTag])
    let date = "Fri, 14 Jul 2017 02:40:00 GMT"
    let cases: [([String: String], Status)] = [
      (["If-None-Match": tag], .notModified),
      (["If-None-Match": "\"x\", W/\(tag)"], .notModified),
      (["If-None-Match": "*"], .notModified),
      (["If-None-Match": "\"x\""], .ok),
      (["If-None-Match": "\"x\"", "If-Modified-Since": date], .ok),
      (["If-Modified-Since": date], .notModified),
      (["If-Modified-Since": "Friday, 14-Jul-17 02:40:00 GMT"], .notModified),
      (["If-Modified-Since": "Fri Jul 14 02:40:00 2017"], .notModified),
      (["If-Modified-Since": "Fri, 14 Jul 2017 02:39:59 GMT"], .ok),
      (["If-Modified-Since": "Thu, 1 Jan 1970 00:00:00 GMT"], .ok),
      (["If-Modified-Since": "Sat, 1 Jan 2022 00:00:00 GMT"], .notModified),
      (["If-Modified-Since": "Fri, 14 Jul 2056 02:40:00 GMT"], .ok),
      (["If-Modified-Since": "yesterday"], .ok),
    ]
    for (fields, status) in cases {
      let response = try await server.get("/2019/05/\(alice)", fields)
      #expect(response.status == status, "\(fields)")
      #expect(response[.entityTag] == tag)
      #expect(response[.lastModified] == date)
      #expect(response.bytes.isEmpty == (status == .notModified))
      if status == .notModified { #expect(response[.contentType] == nil) }
    }
  }

  @Test func onlyThatVersionIsServedAndNeverAnother() async throws {
    try fixture.write("05.tsml", tokenScript("2019/05", for: alice))
    try fixture.write("10.tsml", tokenScript("2019/10", for: alice))
    let server = try await server()
    #expect(try await server.get("/2019/05/\(alice)").text.contains("2019/05"))
    #expect(try await server.get("/2019/10/\(alice)").text.contains("2019/10"))
    for path in ["/2019/06/\(alice)", "/2020/03/\(alice)", "/2019/13/\(alice)", "/2019/05/\(bob)"] {
      #expect(try await server.get(path).status == .notFound)
    }
    // A bare address gives the newest version to unknown clients.
    #expect(try await server.get("/\(alice)").text.contains("2019/10"))
  }

  @Test(arguments: [
    ("/\(bob)", 404), ("/0x", 400), ("/0x12", 400), ("/\(alice)0", 400), ("/0xzz", 400),
    ("/2019/05/0x12", 400), ("/0X12", 400), ("/%30x12", 400), ("/hello", 404),
    ("/2019/05/hello", 404), ("/robots.txt", 404),
    ("/2019/05", 404), ("/\(alice)/", 404), ("/\(alice.dropFirst(2))", 404),
  ])
  func whatIsUnknownIsAnEmptyError(path: String, status: Int) async throws {
    try fixture.write("a.tsml", tokenScript(for: alice))
    let server = try await server()
    let response = try await server.get(path, ["Accept": "text/xml; charset=UTF-8"])
    #expect(Int(response.status.code) == status)
    #expect(response.bytes.isEmpty)
  }

  @Test func errorsHaveABodyWhereItIsAskedFor() async throws {
    let server = try await server()
    let json = try await server.get("/0x12", ["Accept": "application/json"])
    #expect(json.status == .badRequest)
    #expect(json.text.hasPrefix("{\"error\":\""))
    let html = try await server.get("/\(bob)", ["Accept": "text/html"])
    #expect(html.status == .notFound)
    #expect(html[.contentType]?.hasPrefix("text/html") == true)
    #expect(html[.accessControlAllowOrigin] == "*")
    #expect(html[.cacheControl] == "no-cache")
  }

  @Test func otherMethodsAreToldTheRightOnes() async throws {
    try fixture.write("a.tsml", tokenScript(for: alice))
    let server = try await server()
    let post = try await server.get("/\(alice)", method: .post)
    #expect(post.status == .methodNotAllowed)
    #expect(post[.allow]?.contains("GET") == true)
    for path in ["/message", "/2019/05", "/tokenscript/message/chain/1/script-uri"] {
      #expect(try await server.get(path, method: .post).status == .notFound, "\(path)")
    }
    let head = try await server.get("/\(alice)", method: .head)
    #expect(head.status == .ok)
    #expect(head.bytes.isEmpty)
    #expect(head[.entityTag] != nil)
    let options = try await server.get("/2019/05/\(alice)", method: .options)
    #expect(options.status == .noContent)
    #expect(options[.accessControlAllowOrigin] == "*")
    #expect(options[.accessControlExposeHeaders] == "ETag, Last-Modified, Link")
    #expect(options[.accessControlAllowHeaders]?.contains("If-None-Match") == true)
  }

  @Test func aFileOfSeveralContractsIsServedForEachOrigin() async throws {
    try fixture.write(
      "a.tsml",
      tokenScript(
        contracts: [
          ("A", [("1", alice), ("4", bob)]),
          ("B", [("1", "0x" + String(repeating: "1", count: 40))]),
        ],
        origins: ["A"]))
    let server = try await server()
    #expect(try await server.get("/\(alice)").status == .ok)
    #expect(try await server.get("/\(bob)").status == .ok)
    #expect(try await server.get("/0x" + String(repeating: "1", count: 40)).status == .notFound)
  }

  // MARK: Last-Modified

  @Test func theTimeIsTheOneAtWhichTheBytesWereFirstSeen() async throws {
    try fixture.write("a.tsml", tokenScript(for: alice), modified: 1_500_000_000)
    let store = try await fixture.store()
    let server = try await server(store: store)
    let date = try await server.get("/\(alice)")[.lastModified]
    #expect(date == "Fri, 14 Jul 2017 02:40:00 GMT")
    // A fresh checkout has the same bytes with another time and another name.
    try fixture.move("a.tsml", to: "b.tsml")
    try fixture.touch("b.tsml", 1_600_000_000)
    try await server.service.reload()
    #expect(try await server.get("/\(alice)")[.lastModified] == date)
    // The time outlasts a restart.
    let again = try await self.server(store: store)
    #expect(try await again.get("/\(alice)")[.lastModified] == date)
    // Other bytes have a time of their own, and the first bytes keep theirs.
    try fixture.write("b.tsml", tokenScript(for: alice, note: "2"), modified: 1_650_000_000)
    try await again.service.reload()
    #expect(try await again.get("/\(alice)")[.lastModified] == "Fri, 15 Apr 2022 05:20:00 GMT")
    try fixture.write("b.tsml", tokenScript(for: alice), modified: 1_660_000_000)
    try await again.service.reload()
    #expect(try await again.get("/\(alice)")[.lastModified] == date)
  }

  @Test func aTimeInTheFutureIsNow() async throws {
    fixture.time.withLock { $0 = 1_600_000_000 }
    try fixture.write("a.tsml", tokenScript(for: alice), modified: 1_900_000_000)
    let server = try await server()
    #expect(try await server.get("/\(alice)")[.lastModified] == "Sun, 13 Sep 2020 12:26:40 GMT")
  }

  // MARK: Several files

  @Test func ofUnsignedFilesTheNewestIsServed() async throws {
    try fixture.write("a.tsml", tokenScript(for: alice, note: "old"), modified: 1_500_000_000)
    try fixture.write("b.tsml", tokenScript(for: alice, note: "new"), modified: 1_600_000_000)
    #expect(try await server().get("/\(alice)").text.contains("new"))
  }

  @Test func clientsThatReadNoVersionGetNothing() async throws {
    for (schema, chain) in [("2020/06", "1"), ("2024/01", "1"), ("2019/05", "5")] {
      try fixture.write(
        "\(schema)/a.tsml",
        tokenScript(schema, contracts: [("Coin", [(chain, alice)])], origins: ["Coin"]))
    }
    try fixture.write("b.tsml", tokenScript("2024/01", for: bob))
    let gone = "0x" + String(repeating: "2", count: 40)
    try fixture.write("c.tsml.gone", tokenScript("2024/01", for: gone))
    let server = try await server(
      """
      default_namespace = "2024/01"
      [[tokenscript.clients]]
      name = "Old"
      namespaces = ["2019/05"]
      [[tokenscript.clients]]
      name = "Unknown"
      """)
    let old = ["X-Client-Name": "old", "If-Modified-Since": "Thu, 1 Jan 1970 00:00:00 GMT"]
    for path in ["/\(alice)", "/chain/1/\(alice)", "/\(alice)?chain=1", "/\(bob)"] {
      for method in [HTTPProtocol.Method.get, .head] {
        let response = try await server.get(path, old, method: method)
        #expect(response.status == .noContent && response.bytes.isEmpty, "\(path)")
        #expect(response[.entityTag] == nil && response[.lastModified] == nil)
        #expect(response[.vary]?.contains("X-Client-Name") == true)
        #expect(response[.cacheControl] == "no-cache")
      }
      for client in ["Unknown", "new"] {
        #expect(try await server.get(path, ["X-Client-Name": client]).status == .ok)
      }
    }
    for (path, status) in [
      ("/chain/5/\(alice)", 200), ("/2024/01/\(alice)", 200), ("/chain/7/\(alice)", 404),
      ("/\(bob)?signer=nobody", 404), ("/\(gone)", 410), ("/2019/05/\(bob)", 404),
    ] {
      #expect(try await Int(server.get(path, old).status.code) == status, "\(path)")
    }
  }

  @Test func clientsGetTheNewestVersionThatTheyRead() async throws {
    for schema in ["2019/05", "2019/10", "2020/03", "2020/06"] {
      try fixture.write("\(schema)/a.tsml", tokenScript(schema, for: alice))
    }
    let server = try await server(
      """
      default_namespace = "2019/10"
      [[tokenscript.clients]]
      name = "AlphaWallet"
      platform = "iOS"
      versions = ">=1.0 <2.0"
      namespaces = ["2019/05", "2018/01"]
      [[tokenscript.clients]]
      name = "AlphaWallet"
      versions = ">=2.0"
      namespaces = ["2019/05", "2020/03"]
      """)
    func served(_ name: String?, _ platform: String, _ version: String) async throws -> String {
      var fields = ["X-Platform-Name": platform, "X-Client-Version": version]
      fields["X-Client-Name"] = name
      let response = try await server.get("/\(alice)", fields)
      #expect(response[.vary]?.contains("X-Client-Version") == true)
      let text = response.text
      return String(text.split(separator: "http://tokenscript.org/")[1].prefix(7))
    }
    #expect(try await served("AlphaWallet", "iOS", "1.0.3") == "2019/05")
    #expect(try await served("alphawallet", "ios", "1.9") == "2019/05")
    #expect(try await served("AlphaWallet", "Android", "1.0.3") == "2019/10")
    #expect(try await served("AlphaWallet", "Android", "2.1") == "2020/03")
    #expect(try await served(nil, "iOS", "1.0") == "2019/10")
    #expect(try await served("Other", "iOS", "1.0") == "2019/10")
  }

  // MARK: Gone

  @Test func whatIsMarkedIsGoneUnlessAnotherFileServesIt() async throws {
    try fixture.write("05.tsml", tokenScript("2019/05", for: alice))
    let server = try await server()
    try fixture.move("05.tsml", to: "05.tsml.gone")
    try await server.service.reload()
    #expect(try await server.get("/2019/05/\(alice)").status == .gone)
    #expect(try await server.get("/\(alice)").status == .gone)
    #expect(try await server.get("/2019/10/\(alice)").status == .notFound)
    #expect(try await server.get("/2019/05/\(alice)").bytes.isEmpty)
    // A bare address is gone only if no version serves it.
    try fixture.write("10.tsml", tokenScript("2019/10", for: alice))
    try await server.service.reload()
    #expect(try await server.get("/2019/05/\(alice)").status == .gone)
    #expect(try await server.get("/\(alice)").text.contains("2019/10"))
    // Another file serves the contract.
    try fixture.write("else.tsml", tokenScript("2019/05", for: alice, note: "else"))
    try await server.service.reload()
    #expect(try await server.get("/2019/05/\(alice)").text.contains("else"))
  }

  // MARK: Changes

  @Test func aHalfWrittenFileLeavesItsLastGoodVersionInService() async throws {
    let text = tokenScript(for: alice)
    try fixture.write("a.tsml", text)
    try fixture.write("b.tsml", tokenScript(for: bob))
    let store = try await fixture.store()
    let server = try await server(store: store)
    try fixture.write("a.tsml", String(text.dropLast(20)))
    try fixture.write("c.tsml", "<half", modified: 1)
    try fixture.write("b.tsml", "<whole/>")
    try await server.service.reload()
    #expect(try await server.get("/\(alice)").text == text)
    // A well-formed file that is no TokenScript is not served.
    #expect(try await server.get("/\(bob)").status == .notFound)
    // The old version stays while the file is half-written.
    try fixture.write("a.tsml", "")
    try await server.service.reload()
    #expect(try await server.get("/\(alice)").text == text)
    // It does not outlast a restart.
    let again = try await self.server(store: store)
    #expect(try await again.get("/\(alice)").status == .notFound)
    // It goes with its path.
    try fixture.remove("a.tsml")
    try await server.service.reload()
    #expect(try await server.get("/\(alice)").status == .notFound)
  }

  @Test func aReloadThatFailsLeavesTheOldIndex() async throws {
    try fixture.write("a.tsml", tokenScript(for: alice))
    let server = try await server()
    #expect(rename(fixture.root, fixture.folder + "/elsewhere") == 0)
    await #expect(throws: RepositoryError.self) { try await server.service.reload() }
    #expect(try await server.get("/\(alice)").status == .ok)
    #expect(rename(fixture.folder + "/elsewhere", fixture.root) == 0)
    try fixture.remove("a.tsml")
    try await server.service.reload()
    #expect(try await server.get("/\(alice)").status == .notFound)
  }

  @Test func aMissingRootIsAnErrorAtTheStart() async throws {
    try fixture.remove("../repository")
    await #expect(throws: RepositoryError.self) { _ = try await server() }
  }

  @Test func metricsTellTheStateOfTheIndex() async throws {
    try fixture.write("a.tsml", tokenScript(for: alice))
    try fixture.write("b.tsml", "<no/>")
    let text = try await server().metrics.render()
    #expect(text.contains("awd_tokenscript_files{state=\"served\"} 1"))
    #expect(text.contains("awd_tokenscript_files{state=\"refused\"} 1"))
    #expect(text.contains("awd_tokenscript_index_generation 1"))
  }

  @Test(arguments: [
    "signature = \"maybe\"", "modified = \"never\"", "verify_untrusted = \"no\"",
    "default_namespace = \"2019\"", "choice = \"random\"",
    "[tokenscript.deployers]\n\"0x12\" = \"0x13\"",
    "[[tokenscript.clients]]\nname = \"A\"\nversions = \"1.0\"",
    "[[tokenscript.clients]]\nname = \"A\"\nnamespaces = [\"2019\"]",
    "[[tokenscript.clients]]\nnamespaces = [\"2019/05\"]", "unknown = 1",
  ])
  func aWrongSettingIsRejected(toml: String) throws {
    let section = try fixture.section(toml)
    _ = TokenScriptConfiguration(section)
    #expect(throws: (any Error).self) { try section.finish() }
  }
}
