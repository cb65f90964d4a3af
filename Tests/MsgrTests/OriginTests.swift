internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import Msgr

/// Pages in browsers: the server's own, listed ones, and other sites'.
@Suite(.ownThreads, .serialized) struct OriginTests {
  private static let listed = "origins = [\"https://chat.example.org\"]\n"

  private func contacts(
    _ fixture: Fixture, _ token: String, origin: String, _ method: HTTPProtocol.Method = .post,
    path: String = "/contacts"
  ) async throws -> TestResponse {
    try await fixture.request(
      method, path,
      fields: [("Authorization", "Bearer \(token)"), ("Origin", origin)])
  }

  @Test(arguments: [
    ("http://h", 200), ("https://h", 200), ("https://H:443", 200), ("http://h:80", 200),
    ("http://h:8080", 403), ("https://evil.example", 403), ("null", 403), ("", 403),
    ("http://h.evil.example", 403), ("ftp://h", 403), ("http://user@h", 403), ("http://h/", 403),
    ("https://chat.example.org", 403),
  ])
  func onlyTheServersOwnPagesMayCall(_ origin: String, _ status: Int) async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna")
    let response = try await contacts(fixture, token, origin: origin)
    #expect(response.status == status)
    #expect(!response.fields.pairs.contains { $0.name.hasPrefix("Access-Control") })
    // Without origins of others nobody is answered who asks for them.
    #expect(try await contacts(fixture, token, origin: origin, .options).status == 405)
  }

  @Test func listedOriginsMayCallAndRead() async throws {
    let fixture = try await Fixture(Self.listed)
    let token = try await fixture.register("anna")
    let origin = "https://chat.example.org"
    let allowed = FieldName("Access-Control-Allow-Origin")
    for path in ["/contacts", "/inbox"] {
      let response = try await contacts(fixture, token, origin: origin, path: path)
      #expect(response.status == 200)
      #expect(response.fields.first(allowed) == origin)
      #expect(response.fields.first(.vary) == "Origin")
    }
    // A refusal can be read as well.
    let refused = try await contacts(fixture, String(repeating: "0", count: 64), origin: origin)
    #expect(refused.status == 403)
    #expect(refused.fields.first(allowed) == origin)
    let preflight = try await contacts(fixture, token, origin: origin, .options)
    #expect(preflight.status == 204)
    #expect(preflight.fields.first(FieldName("Access-Control-Allow-Methods")) == "POST")
    #expect(
      preflight.fields.first(FieldName("Access-Control-Allow-Headers"))
        == "Authorization, Content-Type, Title, Priority, Click, Tags, X-Gotify-Key")
    for other in ["https://chat.example.org:444", "http://chat.example.org", "https://x.org"] {
      #expect(try await contacts(fixture, token, origin: other).status == 403)
      #expect(try await contacts(fixture, token, origin: other, .options).status == 403)
    }
  }

  @Test func aPageOpensAStreamWithASubprotocol() async throws {
    try await withRunning(Self.listed) { running in
      let token = try await running.fixture.register("anna", device: "stream:anna-1234")
      try await running.fixture.register("bert")
      let own = "http://127.0.0.1:\(running.port)"
      for origin in [own, "https://chat.example.org", nil] {
        let stream = try running.stream(offering: "msgr.1, bearer.\(token)", origin: origin)
        #expect(stream.status == 101)
        #expect(stream.head.contains("Sec-WebSocket-Protocol: msgr.1\r\n"))
        #expect(!stream.head.contains(token))
        try await running.fixture.send("hello", from: "bert", to: "anna")
        #expect(try await stream.nextObject()["Message"] as? String == "hello")
      }
      for (offer, origin) in [
        ("msgr.1, bearer.\(token)", "https://evil.example"), ("msgr.1, bearer.\(token)", "null"),
        ("bearer.\(token)", own), ("msgr.1", own), ("msgr.1, bearer.00", own),
        ("msgr.2, bearer.\(token)", own),
      ] {
        #expect(try running.stream(offering: offer, origin: origin).status == 403, "\(offer)")
      }
    }
  }
}
