internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import Msgr

/// Requests in Gotify's dialect, in the order in which its app makes them.
@Suite(.ownThreads) struct GotifyTests {
  private struct Phone {
    let fixture: Fixture
    let token: String

    init() async throws {
      fixture = try await Fixture()
      for name in ["anna", "bert"] { try await fixture.register(name) }
      let made = try await Self.request(
        fixture, .post, "/client", #"{"name":"phone"}"#, [NtfyTests.Site.basic("anna")])
      #expect(made.status == 200 && made.object["lastUsed"] is NSNull)
      token = try #require(made.object["token"] as? String)
    }

    static func request(
      _ fixture: Fixture, _ method: HTTPProtocol.Method, _ path: String, _ body: String = "",
      _ fields: [(name: String, value: String)] = []
    ) async throws -> TestResponse {
      var fields = fields
      if body.hasPrefix("{") { fields.append(("Content-Type", "application/json")) }
      return try await fixture.request(
        method, path, body: Array(body.utf8), fields: fields, isDialect: true)
    }

    func request(
      _ method: HTTPProtocol.Method, _ path: String, _ body: String = ""
    ) async throws -> TestResponse {
      try await Self.request(fixture, method, path, body, [("X-Gotify-Key", token)])
    }

    func application(_ body: String = #"{"name":"cron"}"#) async throws -> [String: Any] {
      let made = try await request(.post, "/application", body)
      #expect(made.status == 200)
      return made.object
    }
  }

  @Test func theAppSignsIn() async throws {
    let phone = try await Phone()
    #expect(phone.token.hasPrefix("C") && phone.token.utf8.count == 15)
    let user = try await phone.request(.get, "/current/user")
    #expect(user.object["name"] as? String == "anna" && user.object["admin"] as? Bool == false)
    let clients = try await phone.request(.get, "/client").array
    #expect(clients.count == 1 && (clients.first as? [String: Any])?["token"] == nil)
    let sessions = try await phone.fixture.post(
      "/sessions", ["Username": "anna", "Password": "pw"])
    let kinds = sessions.array.compactMap { ($0 as? [String: Any])?["Kind"] as? String }
    #expect(kinds.contains("gotify"))
    for field in [
      ("X-Gotify-Key", "C" + String(repeating: "x", count: 14)), NtfyTests.Site.basic("anna", "no"),
    ] {
      let refused = try await Phone.request(phone.fixture, .get, "/current/user", "", [field])
      #expect(refused.status == 401 && refused.object["errorCode"] as? Int == 401)
      #expect(refused.fields.first(FieldName("WWW-Authenticate")) == nil)
    }
  }

  @Test func messagesComeInAllForms() async throws {
    let phone = try await Phone()
    let application = try await phone.application(#"{"name":"cron","defaultPriority":4}"#)
    let token = try #require(application["token"] as? String)
    #expect(token.hasPrefix("A") && token.utf8.count == 15)
    let bearer = [("Authorization", "Bearer \(token)")]
    let form = [("Content-Type", "application/x-www-form-urlencoded")]
    for (path, body, fields) in [
      ("/message?token=\(token)", #"{"message":"m","title":"t","extras":{"a":{"b":1}}}"#, []),
      ("/message", "message=m&title=t", bearer + form),
      ("/message", "message=m&title=t", [("X-Gotify-Key", token)] + form + bearer),
      ("/msgr/message?token=\(token)&message=m&title=t", "", []),
    ] as [(String, String, [(String, String)])] {
      let sent = try await Phone.request(phone.fixture, .post, path, body, fields)
      #expect(sent.status == 200, "\(path)")
      #expect(sent.object["message"] as? String == "m" && sent.object["title"] as? String == "t")
      #expect(sent.object["priority"] as? Int == 4)
      #expect(sent.object["appid"] as? Int == application["id"] as? Int)
      #expect((sent.object["id"] as? Int ?? 0) > 0)
      // Go takes any member of that name for the number.
      #expect(sent.object.keys.filter { $0.lowercased() == "id" } == ["id"])
    }
    #expect(
      try await Phone.request(phone.fixture, .post, "/message?token=\(token)", "{}").status == 400)
    let bad = "A" + String(repeating: "x", count: 14)
    #expect(
      try await Phone.request(phone.fixture, .post, "/message?token=\(bad)", "message=x").status
        == 401)
    let list = try await phone.request(.get, "/message").object["messages"] as? [[String: Any]]
    #expect(list?.count == 4 && list?.last?["extras"] != nil)
  }

  @Test func aClientNamesTheApplicationInAnyForm() async throws {
    let phone = try await Phone()
    let application = try await phone.application(#"{"name":"cron","defaultPriority":3}"#)
    let id = try #require(application["id"] as? Int)
    let form = "application/x-www-form-urlencoded"
    let parts =
      "--b\r\nContent-Disposition: form-data; name=\"message\"\r\n\r\n100%\r\n--b\r\n"
      + "Content-Disposition: form-data; name=\"appid\"\r\n\r\n\(id)\r\n--b--\r\n"
    for (body, type) in [
      ("message=100%&priority=99&appid=\(id)", form), (parts, "multipart/form-data; boundary=b"),
      (#"{"Message":"100%","appid":"\#(id)"}"#, "application/json"),
      (#"{"message":"100%","appid":\#(id)}"#, "application/json"),
    ] {
      let sent = try await Phone.request(
        phone.fixture, .post, "/message?token=", body,
        [("X-Gotify-Key", phone.token), ("Content-Type", type)])
      #expect(sent.status == 200 && sent.object["appid"] as? Int == id, "\(body)")
      #expect(sent.object["message"] as? String == "100%", "\(body)")
      #expect(sent.object["priority"] as? Int == 3, "\(body)")
    }
    for body in ["title=only&appid=\(id)", "bad&appid=\(id)"] {
      let refused = try await Phone.request(
        phone.fixture, .post, "/message", body,
        [("X-Gotify-Key", phone.token), ("Content-Type", form)])
      #expect(refused.status == 400 && refused.object["errorCode"] as? Int == 400, "\(body)")
    }
    let long = String(repeating: "é", count: 60_000)
    let cut = try await Phone.request(
      phone.fixture, .post, "/message?appid=\(id)", #"{"message":"\#(long)"}"#,
      [("X-Gotify-Key", phone.token)])
    #expect(cut.status == 200 && cut.object["notes"] != nil)
    #expect((cut.object["message"] as? String)?.hasSuffix("…") == true)
  }

  @Test func anApplicationKeepsItsNumberUnderAnotherName() async throws {
    let phone = try await Phone()
    let application = try await phone.application()
    let id = try #require(application["id"] as? Int)
    let token = try #require(application["token"] as? String)
    let renamed = try await phone.request(
      .put, "/application/\(id)", #"{"name":"backups","description":"d","defaultPriority":7}"#)
    #expect(renamed.object["id"] as? Int == id && renamed.object["name"] as? String == "backups")
    let sent = try await Phone.request(
      phone.fixture, .post, "/message?token=\(token)", #"{"message":"m"}"#)
    #expect(sent.object["appid"] as? Int == id && sent.object["title"] as? String == "backups")
    let list = try await phone.request(.get, "/application/\(id)/message").object
    let message = try #require((list["messages"] as? [[String: Any]])?.first)
    #expect(message["title"] as? String == "backups" && message["priority"] as? Int == 7)
    #expect(try await phone.request(.delete, "/application/\(id)").status == 200)
  }

  @Test func anApplicationHasAPicture() async throws {
    let phone = try await Phone()
    let image = try #require(try await phone.application()["image"] as? String)
    let picture = try await phone.fixture.request(.get, "/\(image)")
    #expect(picture.status == 200 && picture.fields.first(.contentType) == "image/png")
    #expect(picture.bytes.starts(with: [0x89, 0x50, 0x4e, 0x47]))
  }

  @Test func pagesGoBackToTheBeginning() async throws {
    let phone = try await Phone()
    let application = try await phone.application()
    let token = try #require(application["token"] as? String)
    for number in 0..<7 {
      _ = try await Phone.request(
        phone.fixture, .post, "/message?token=\(token)", #"{"message":"\#(number)"}"#)
    }
    var seen: [Int] = []
    var path: String? = "/message?limit=3"
    while let next = path {
      let page = try await phone.request(.get, next).object
      let messages = try #require(page["messages"] as? [[String: Any]])
      seen += messages.compactMap { $0["id"] as? Int }
      let paging = try #require(page["paging"] as? [String: Any])
      #expect(paging["size"] as? Int == messages.count)
      path = (paging["next"] as? String)?.replacing("http://h", with: "")
    }
    #expect(seen.count == 7 && seen == seen.sorted(by: >))
    #expect(try await phone.request(.get, "/message?limit=201").status == 400)
    #expect(try await phone.request(.delete, "/message/\(seen[0])").status == 200)
    #expect(try await phone.request(.delete, "/message/\(seen[0])").status == 404)
    #expect(try await phone.fixture.inbox("anna").count == 6)
  }

  @Test func aShownTokenSendsAndEndsWithItsClient() async throws {
    let phone = try await Phone()
    _ = try await phone.application()
    let list = try await phone.request(.get, "/application").array
    let shown = try #require((list.first as? [String: Any])?["token"] as? String)
    let again = try await phone.request(.get, "/application").array
    #expect((again.first as? [String: Any])?["token"] as? String == shown)
    let path = "/message?token=\(shown)"
    #expect(try await Phone.request(phone.fixture, .post, path, #"{"message":"m"}"#).status == 200)
    let client = try #require(
      try await phone.request(.get, "/client").array.first as? [String: Any])
    #expect(try await phone.request(.delete, "/client/\(client["id"] as? Int ?? 0)").status == 200)
    #expect(try await Phone.request(phone.fixture, .post, path, #"{"message":"m"}"#).status == 401)
  }

  @Test func aPublishersTokenCountsInEveryForm() async throws {
    let phone = try await Phone()
    // A token of the form that sessions have, of which a request that names a recipient looks like Msgr's own.
    let token = BearerToken(Array(repeating: 7, count: 32))
    let store = phone.fixture.service.service.store
    try await store.addPublisher(
      NewPublisher(name: "old"), of: UserName(stored: "anna"), token.hash)
    let text = #"{"message":"the field \"UserTo\" is missing"}"#
    let plain = #"{"message":"m","UserTo":"bert"}"#
    for (body, fields) in [
      (text, [("Authorization", "Bearer \(token.text)")]),
      (plain, [("Authorization", "Bearer \(token.text)")]),
      (plain, [NtfyTests.Site.basic("", token.text)]),
      (plain, [NtfyTests.Site.basic("anna", token.text)]),
    ] {
      let sent = try await Phone.request(phone.fixture, .post, "/message", body, fields)
      #expect(sent.status == 200 && sent.object["appid"] is Int, "\(body) \(fields)")
    }
    #expect(try await phone.fixture.texts("anna").count == 4)
    #expect(try await phone.fixture.texts("bert").isEmpty)
  }

  @Test func anAlertmanagerIsToldToComeAgain() async throws {
    let phone = try await Phone()
    let token = try #require(try await phone.application()["token"] as? String)
    var last: TestResponse?
    for _ in 0..<61 {
      last = try await Phone.request(
        phone.fixture, .post, "/message?token=\(token)", #"{"message":"m"}"#,
        [("User-Agent", "Alertmanager/0.27")])
    }
    #expect(last?.status == 503 && last?.fields.first(.retryAfter) != nil)
  }

  @Test(arguments: [
    (Method.get, "/application/1", 405), (.post, "/application/1", 405),
    (.delete, "/application", 405), (.put, "/message", 405), (.post, "/message/1", 405),
    (.put, "/client", 405), (.post, "/plugin", 405), (.post, "/current/user", 405),
    (.get, "/application/1/foo", 404), (.post, "/client/1/elevate", 404),
    (.post, "/current/user/password", 404), (.get, "/user/1", 404), (.delete, "/user/1", 404),
    (.get, "/plugin/1/config", 404), (.get, "/message/1/x", 404),
  ])
  func whatIsNotThereIsRefusedInItsForm(
    _ method: HTTPProtocol.Method, _ path: String, _ status: Int
  ) async throws {
    let phone = try await Phone()
    let refused = try await phone.request(method, path)
    #expect(refused.status == status)
    #expect(refused.object["errorCode"] as? Int == status)
    #expect(refused.object["error"] is String && refused.object["errorDescription"] is String)
    #expect((refused.fields.first(.allow) != nil) == (status == 405))
  }

  @Test(arguments: ["/client", "/application", "/message"])
  func aNumberBeyondADoubleIsNamed(_ path: String) async throws {
    let phone = try await Phone()
    let body = #"{"name":"x","message":"x","appid":1,"priority":1e400}"#
    let refused = try await phone.request(.post, path, body)
    #expect(refused.status == 400)
    let text = try #require(refused.object["errorDescription"] as? String)
    #expect(text.contains("too large a number"))
  }

  @Test func peoplesMessagesAreMsgrs() async throws {
    let phone = try await Phone()
    try await phone.fixture.send("hello", from: "bert", to: "anna")
    let page = try await phone.request(.get, "/message").object
    #expect((page["messages"] as? [Any])?.isEmpty == true)
    let session = try await phone.fixture.login("anna", device: "stream:anna-12345")
    let sent = try await phone.fixture.post(
      "/message", ["UserTo": "bert", "Message": "x"], token: session)
    #expect(sent.status == 200 && sent.id != nil)
  }
}
