internal import Ethereum
internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import WalletClient
internal import XMLSecurity

/// The agent against servers that fail, lie or attack.
@Suite(.ownThreads) struct HostileRepositoryTests {
  static let date = "Sun, 13 Sep 2020 12:26:40 GMT"
  let cache = TemporaryFolder()

  /// Asks a server that always gives one response.
  private func fetch(
    _ response: Response, _ request: TokenScriptRequest? = nil
  ) async throws -> TokenScriptReport {
    var report: TokenScriptReport?
    try await withServer(ScriptedResponder { _, _ in response }) { url in
      report = try await agent(url, cache).fetch(request ?? WalletClientTests.request())
    }
    return try #require(report)
  }

  @Test(
    arguments: [
      (tokenScript("2019/04"), .namespace), (tokenScript("2019/5"), .namespace),
      (tokenScript().replacing("tokenscript.org", with: "tokenscript.example"), .namespace),
      (tokenScript(for: bob), .contract), (tokenScript(origin: "Other"), .contract),
      (tokenScript(origin: "Missing"), .contract), (tokenScript(root: "action"), .contract),
      (tokenScript(for: "0x0"), .contract),
    ] as [(String, TokenScriptRejection.Code)])
  func signedButNotWhatWasAskedFor(_ text: String, _ code: TokenScriptRejection.Code) async throws {
    let bytes = try Signer.shop.sign(text, at: 1_600_000_000)
    let report = try await fetch(.file(bytes, modified: Self.date))
    #expect(report.outcome == .invalid && report.attempts.map(\.rejection?.code) == [code])
    #expect(cache.files.isEmpty)
  }

  @Test(
    arguments: [
      ("", .malformed), ("<html>", .malformed), ("<html/>", .namespace),
      ("\u{1f}\u{8b}", .malformed),
      ("<!DOCTYPE x [<!ENTITY y SYSTEM \"file:///etc/passwd\">]><x>&y;</x>", .malformed),
      (String(repeating: "<a>", count: 100_000), .malformed), (tokenScript(), .signature),
    ] as [(String, TokenScriptRejection.Code)])
  func unsigned(_ text: String, _ code: TokenScriptRejection.Code) async throws {
    let report = try await fetch(.file(Array(text.utf8), modified: Self.date))
    #expect(report.outcome == .invalid && report.attempts.map(\.rejection?.code) == [code])
    #expect(cache.files.isEmpty)
  }

  @Test func anotherSignerThanWasAskedFor() async throws {
    let bytes = try Signer.rival.sign(tokenScript(), at: 1_600_000_000)
    let report = try await fetch(
      .file(bytes, modified: Self.date), request(signer: "shop.example"))
    #expect(report.attempts.map(\.rejection?.code) == [.signer])
    #expect(cache.files.isEmpty)
  }

  @Test func anUntrustedCertificateIsTold() async throws {
    let bytes = try Signer.shop.sign(tokenScript(), at: 1_600_000_000)
    let roots = try TrustStore()
    try await withServer(ScriptedResponder { _, _ in .file(bytes) }) { url in
      let report = try await agent(url, cache, roots: roots).fetch(request())
      guard case .stored(let script, _, _) = report.outcome, case .untrusted = script.trust else {
        Issue.record("\(report)")
        return
      }
    }
  }

  @Test(arguments: [
    nil, "", "yesterday", "Thu, 99 Foo 2020 99:99:99 GMT", "1600000000", "\u{ff}",
    "Sun, 13 Sep 2020 12:26:40 +0200", String(repeating: "9", count: 10_000),
  ])
  func datesThatAreNone(_ date: String?) async throws {
    let unsigned = tokenScript()
    let bytes = try Signer.shop.sign(unsigned, at: 1_600_000_000)
    guard case .stored = try await fetch(.file(bytes, modified: date)).outcome else {
      Issue.record("not stored")
      return
    }
    // The time of the signature counts; the same again is no update.
    #expect(try cache.modified("1/\(alice).xml") == 1_600_000_000)
    #expect(try await fetch(.file(bytes, modified: date)).outcome == .unchanged)
  }

  @Test(
    arguments: [
      ("Sun, 13 Sep 2020 12:26:41 GMT", 1_600_000_001),
      ("Sunday, 13-Sep-20 12:26:41 GMT", 1_600_000_001),
      ("Sun Sep 13 12:26:41 2020", 1_600_000_001), ("Mon, 01 Jan 1601 00:00:00 GMT", 0),
    ] as [(String, Int64)])
  func datesOfAnyForm(_ date: String, _ seconds: Int64) async throws {
    let bytes = try Signer.shop.sign(tokenScript(), at: 1_600_000_000)
    _ = try await fetch(.file(bytes, modified: date))
    #expect(try cache.modified("1/\(alice).xml") == seconds)
  }

  @Test func aDateInTheFutureIsNoReasonToAskWithOne() async throws {
    let bytes = try Signer.shop.sign(tokenScript(), at: 1_600_000_000)
    let responder = ScriptedResponder { _, _ in
      .file(bytes, modified: "Fri, 31 Dec 9999 23:59:59 GMT")
    }
    try await withServer(responder) { url in
      let agent = try agent(url, cache)
      _ = try await agent.fetch(request())
      let now = Int64(Date().timeIntervalSince1970)
      #expect(try cache.modified("1/\(alice).xml") <= now)
      try cache.touch("1/\(alice).xml", now + 86_400)
      _ = try await agent.fetch(request())
      let sent = try #require(responder.requests.last?.first(.ifModifiedSince))
      let date = try #require(HTTPDate(sent, now: HTTPDate(now)))
      #expect(date.seconds <= Int64(Date().timeIntervalSince1970))
    }
  }

  @Test func everyRequestSaysWhoAsks() async throws {
    let responder = ScriptedResponder { _, _ in Response(.notFound) }
    try await withServer(responder) { url in
      try cache.write("1/\(alice).xml", [], modified: 1_600_000_000)
      let identity = WalletIdentity(
        name: "AlphaWallet", version: "1.0.3", platform: .iOS, platformVersion: "11.1.2")
      let agent = try TokenScriptAgent(
        repository: url, cache: cache.path, identity: identity)
      _ = try await agent.fetch(request(in: [may, april]))
    }
    #expect(
      responder.requests.map { String(decoding: $0.path, as: UTF8.self) }
        == ["/2019/05/\(alice)", "/2019/04/\(alice)"])
    for head in responder.requests {
      #expect(head.value(.accept) == "text/xml; charset=UTF-8")
      #expect(head.value(FieldName("X-Client-Name")) == "AlphaWallet")
      #expect(head.value(FieldName("X-Client-Version")) == "1.0.3")
      #expect(head.value(FieldName("X-Platform-Name")) == "iOS")
      #expect(head.value(FieldName("X-Platform-Version")) == "11.1.2")
      #expect(head.value(.ifModifiedSince) == Self.date)
    }
  }

  @Test(arguments: [206, 301, 302, 307, 308, 400, 401, 403, 406, 429, 500, 503])
  func otherResponsesAreFailures(_ status: UInt16) async throws {
    let bytes = try Signer.shop.sign(tokenScript(), at: 1_600_000_000)
    let responder = ScriptedResponder { path, _ in
      // The redirect leads to a good file.
      guard path != "/elsewhere" else { return .file(bytes) }
      var response = Response(Status(status), body: .array(bytes))
      response.fields.append(.location, "http://elsewhere.example/")
      return response
    }
    try await withServer(responder) { url in
      let report = try await agent(url, cache).fetch(request(in: [may, april]))
      guard case .failed(let reason) = report.outcome else {
        Issue.record("\(report)")
        return
      }
      #expect(reason.contains("(\(status))"))
      #expect(responder.requests.count == 1 && cache.files.isEmpty)
    }
  }

  @Test func unaskedNotModifiedIsAFailure() async throws {
    guard case .failed = try await fetch(Response(.notModified)).outcome else {
      Issue.record("taken")
      return
    }
  }

  @Test func aListInJSON() async throws {
    let text = """
      {"choices":[{"url":"/x?signer=a%20b","signer":"A","key":"k","modified":"then"},{"url":"/y"}]}
      """
    let choices = try await fetch(
      Response(.multipleChoices, type: "application/json; charset=utf-8", text: text)
    ).outcome
    guard case .choices(let list) = choices else {
      Issue.record("\(choices)")
      return
    }
    #expect(list.map(\.signer) == ["a b", nil] && list.map(\.title) == ["A", nil])
    #expect(list[0].key == "k" && list[0].modified == "then" && list[1].url == "/y")
  }

  @Test(arguments: ["", "null", "{\"choices\":1}", String(repeating: "[", count: 100_000)])
  func aListThatIsNone(_ text: String) async throws {
    let response = Response(.multipleChoices, type: "application/json", text: text)
    guard case .failed(let reason) = try await fetch(response).outcome else {
      Issue.record("taken")
      return
    }
    #expect(reason.contains("no list"))
  }

  @Test func moreLinksThanAnybodyReads() async throws {
    var response = Response(.multipleChoices)
    for number in 0..<200 {
      response.fields.append(.link, "</\(number)?signer=\(number)>; rel=alternate")
    }
    guard case .choices(let list) = try await fetch(response).outcome else {
      Issue.record("no choices")
      return
    }
    #expect(list.count == 100)
  }

  @Test func nineMegabytes() async throws {
    let report = try await fetch(.file([UInt8](repeating: 0x20, count: 9 << 20)))
    #expect(report.outcome == .failed("the response's body is too long"))
    #expect(cache.files.isEmpty)
  }

  @Test func aBodyWithoutEnd() async throws {
    let server = try RawServer { connection in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      let chunk = "10000\r\n" + String(repeating: " ", count: 0x10000) + "\r\n"
      while connection.write(chunk) {}
    }
    let report = try await agent(server.url, cache).fetch(request())
    #expect(report.outcome == .failed("the response's body is too long"))
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<ts:token", "", "SSH-2.0-x\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
  ])
  func brokenResponses(_ text: String) async throws {
    let own = Array("own".utf8)
    try cache.write("1/\(alice).xml", own, modified: 1)
    let server = try RawServer.responding(text)
    let report = try await agent(server.url, cache).fetch(request(in: [may, april]))
    guard case .failed = report.outcome else {
      Issue.record("\(report)")
      return
    }
    #expect(report.hasFile && cache.bytes("1/\(alice).xml") == own)
  }

  @Test func silence() async throws {
    let server = try RawServer { $0.waitForEnd() }
    let report = try await agent(server.url, cache, timeout: .milliseconds(200)).fetch(request())
    guard case .failed = report.outcome else {
      Issue.record("\(report)")
      return
    }
  }

  @Test func cancellationEndsTheWait() async throws {
    let server = try RawServer { $0.waitForEnd() }
    let agent = try agent(server.url, cache)
    let task = Task { try await agent.fetch(request()) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func whatIsNoURLIsTheCallersError() async throws {
    let agent = try agent("ftp://127.0.0.1", cache)
    await #expect(throws: HTTPClientError.self) { try await agent.fetch(request()) }
  }

  @Test func aCacheThatCannotBeWritten() async throws {
    let main = try Signer.shop.sign(tokenScript(), at: 1_600_000_000)
    let other = try Signer.shop.sign(tokenScript(network: "2"), at: 1_600_000_000)
    // A folder where the file should be, and a file where the folder should be.
    try cache.write("1/\(alice).xml/x", [])
    try cache.write("2", [])
    let responder = ScriptedResponder { _, head in
      .file(head.query?.elementsEqual("chain=1".utf8) == true ? main : other)
    }
    try await withServer(responder) { url in
      let agent = try agent(url, cache)
      for network in [ChainID.main, try #require(ChainID(2))] {
        await #expect(throws: TokenScriptCacheError.self) {
          try await agent.fetch(request(network: network))
        }
      }
    }
  }

  @Test func aFileThatItsAuthorSavesMeanwhileStays() async throws {
    let bytes = try Signer.shop.sign(tokenScript(), at: 1_600_000_000)
    let cache = cache
    let responder = ScriptedResponder { _, _ in
      _ = try? cache.write("1/\(alice).xml", Array("own".utf8))
      return .file(bytes, modified: Self.date)
    }
    try await withServer(responder) { url in
      await #expect(throws: TokenScriptCacheError.self) {
        try await agent(url, cache).fetch(request())
      }
    }
    #expect(cache.files == ["1/\(alice).xml"])
    #expect(cache.bytes("1/\(alice).xml") == Array("own".utf8))
  }
}
