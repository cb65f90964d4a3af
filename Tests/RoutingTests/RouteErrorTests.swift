internal import Foundation
internal import HTTPProtocol
internal import Observability
internal import Routing
internal import Storage
internal import TestSupport
internal import Testing

@Suite(.ownThreads) struct RouteErrorTests {
  private struct Secretive: Error, CustomStringConvertible {
    var description: String { "detail that only the operator may read" }
  }

  /// A router whose handlers throw the error that the path names.
  private static func router(_ style: ErrorStyle = .negotiated) async throws -> Router {
    let store = try await Store.open(.memory)
    await store.close()
    var router = Router(service: "x")
    router.errorStyle = style
    router.get("/refuse") { _, _ in throw HTTPError(.forbidden, "not <you> & \"yours\"") }
    router.get("/later") { _, _ in throw HTTPError(.tooManyRequests, retryAfter: 30) }
    router.get("/full") { _, _ in
      throw HTTPError(.serviceUnavailable, "the disk is nearly full", retryAfter: 30)
    }
    router.get("/store") { _, _ in
      try await store.write { _ in }
      return Response(.ok)
    }
    router.get("/cancelled") { _, _ in throw CancellationError() }
    router.get("/unknown") { _, _ in throw Secretive() }
    return router
  }

  @Test(
    arguments: [
      ("/refuse", 403, nil, nil), ("/later", 429, "30", nil), ("/store", 503, "1", "abc"),
      ("/cancelled", 503, "1", "abc"), ("/unknown", 500, nil, "abc"), ("/none", 404, nil, nil),
    ] as [(String, UInt16, String?, String?)])
  func mapping(_ path: String, _ status: UInt16, _ retryAfter: String?, _ id: String?) async throws
  {
    let response = try await table(try await Self.router()).send(.get, path)
    #expect(response.status.code == status)
    #expect(response.fields.first(.retryAfter) == retryAfter)
    #expect(response.fields.first(.requestID) == id)
    #expect(response.text.isEmpty)
  }

  @Test func aBrowserGetsThePageOfAMissingOne() async throws {
    var router = Router(service: "x")
    router.errorStyle = .own { Response($0.status, type: "text/plain", text: "own") }
    router.get("/here") { _, _ in throw HTTPError(.notFound) }
    let table = try table(router)
    let browser = [("Accept", "text/html,application/xml;q=0.9,*/*;q=0.8")]
    let page = try await table.send(.get, "/here", fields: browser)
    #expect(page.status == .notFound && page.text.contains("<a href=\"/\">"))
    for accept in ["*/*", "application/json", "text/html;q=0.5, application/json"] {
      let answer = try await table.send(.get, "/here", fields: [("Accept", accept)])
      #expect(answer.text == "own", "\(accept)")
    }
    let post = try await table.send(.post, "/here", fields: browser)
    #expect(post.text == "own")
  }

  static let json = #"{"error":"not <you> & \"yours\""}"#
  static let html = "<p>not &lt;you&gt; &amp; &quot;yours&quot;</p>"

  @Test(arguments: [
    ("*/*", ""), ("text/xml", ""), ("application/json", json), ("APPLICATION/JSON;q=0.1", json),
    ("application/json;q=0", ""), ("text/html", html), ("text/html, application/json", json),
    ("text/html, application/json;q=0.9", html), ("text/html;q=0, application/json;q=0.9", json),
  ])
  func negotiatedBodies(_ accept: String, _ body: String) async throws {
    let response = try await table(try await Self.router())
      .send(.get, "/refuse", fields: [("Accept", accept)])
    #expect(body.isEmpty ? response.text.isEmpty : response.text.contains(body))
    #expect(response.fields.first(.vary) == "Accept")
    #expect((response.fields.first(.contentType) == nil) == body.isEmpty)
  }

  @Test func jsonWhateverIsAccepted() async throws {
    let response = try await table(try await Self.router(.json)).send(.get, "/refuse")
    #expect(response.text == Self.json)
    #expect(response.fields.first(.contentType) == "application/json")
  }

  /// Sends a request to a table with a log of its own, and returns the response and what was logged.
  private func logged(_ target: String) async throws -> (Response, String) {
    let pipe = Pipe()
    let log = Log(level: .warning, descriptor: pipe.fileHandleForWriting.fileDescriptor)
    let table = try RouteTable([try await Self.router(.json)], log: log)
    let response = try await table.send(.get, target)
    log.flush(within: .seconds(60))
    pipe.fileHandleForWriting.closeFile()
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    return (response, text)
  }

  @Test func theDetailOfAnUnknownErrorIsOnlyInTheLog() async throws {
    let (response, text) = try await logged("/unknown?token=secret")
    #expect(response.text == #"{"error":"Internal Server Error"}"#)
    #expect(text.contains("error   request failed"))
    #expect(text.contains(#"cause="detail that only"#) && text.contains("request=abc"))
    #expect(text.contains("path=/unknown ") && !text.contains("secret"))
  }

  @Test func aRefusalForWantOfRoomSaysWhatIsFull() async throws {
    let (response, text) = try await logged("/full")
    #expect(response.status == .serviceUnavailable)
    #expect(text.contains("warning request refused") && !text.contains("request failed"))
    #expect(text.contains(#"cause="the disk is nearly full""#))
    let (other, nothing) = try await logged("/later")
    #expect(other.status == .tooManyRequests && nothing.isEmpty)
  }
}
