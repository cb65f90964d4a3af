internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr

/// Programs that publish, in the forms of other services' clients.
@Suite(.ownThreads) struct PublishingTests {
  private struct Site {
    let fixture: Fixture
    /// A token of anna's that sends to bert and cleo.
    let token: String

    init(_ configuration: String = "") async throws {
      fixture = try await Fixture(configuration)
      for name in ["anna", "bert", "cleo", "dora"] { try await fixture.register(name) }
      token = try await Self.token(fixture, "ci", ["bert", "cleo"])
    }

    static func token(_ fixture: Fixture, _ name: String, _ to: [String]) async throws -> String {
      let response = try await fixture.post(
        "/tokens", ["Username": "anna", "Password": "pw", "Name": name, "To": to])
      return try #require(response.object["Token"] as? String, "\(response.status)")
    }

    func publish(
      _ body: String, type: String? = nil, path: String = "/publish",
      _ fields: [(name: String, value: String)] = [], token: String? = nil
    ) async throws -> TestResponse {
      var all = fields
      if let type { all.append(("Content-Type", type)) }
      if !fields.contains(where: { $0.name == "Authorization" || $0.name == "X-Gotify-Key" }),
        !path.contains("?")
      {
        all.append(("Authorization", "Bearer \(token ?? self.token)"))
      }
      return try await fixture.request(.post, path, body: Array(body.utf8), fields: all)
    }

    func last(of name: String = "bert") async throws -> [String: Any] {
      try #require(try await fixture.inbox(name).last)
    }
  }

  @Test(arguments: [nil, "text/plain", "application/x-www-form-urlencoded"])
  func theBodyIsTheMessage(_ type: String?) async throws {
    let site = try await Site()
    let response = try await site.publish("disk at 93 %, load=5 & rising", type: type)
    #expect(response.status == 200)
    for name in ["bert", "cleo"] {
      let message = try await site.last(of: name)
      #expect(message["Message"] as? String == "disk at 93 %, load=5 & rising")
      #expect(message["UserFrom"] as? String == "anna/ci")
      #expect(message["Title"] == nil)
    }
    #expect(response.id == (try await site.last(of: "bert"))["Id"] as? String)
    #expect(try await site.fixture.inbox("dora").isEmpty)
  }

  @Test func whoOnlyLooksPublishesNothing() async throws {
    let site = try await Site()
    let fields = [("Authorization", "Bearer \(site.token)")]
    for path in ["/publish?message=x", "/msgr/publish/bert?message=x"] {
      let response = try await site.fixture.request(.head, path, fields: fields)
      #expect(response.status == 404, "\(path)")
    }
    #expect(try await site.fixture.inbox("bert").isEmpty)
  }

  /// A program that has cut a text amid a character, or writes a member twice.
  @Test func jsonThatOtherServersTakeIsTaken() async throws {
    let site = try await Site()
    for (body, title, text) in [
      (#"{"title":"Alarm \ud83d","message":"down"}"#, "Alarm \u{fffd}", "down"),
      (#"{"title":"\udc00x","message":"\ud83d\ude00 \\ud83d"}"#, "\u{fffd}x", "\u{1f600} \\ud83d"),
      (#"{"title":"a","message":"one","title":"b"}"#, "b", "one"),
    ] {
      let response = try await site.publish(body, type: "application/json")
      #expect(response.status == 200, "\(body): \(response.object)")
      let message = try await site.last()
      #expect(message["Title"] as? String == title, "\(body)")
      #expect(message["Message"] as? String == text, "\(body)")
    }
    let attached = try await site.publish(
      #"{"attach":"https://example.org/a/cat.jpg"}"#, type: "application/json")
    #expect(attached.status == 200)
    #expect(try await site.last()["Message"] as? String == "You received a file: cat.jpg")
    let list = try await site.publish(#"{"title":["a"],"message":"m"}"#, type: "application/json")
    #expect(list.object["Notes"] as? [String] == ["title was dropped: it is no text"])
    #expect(try await site.publish("{}", type: "application/json").status == 400)
  }

  @Test(arguments: [nil, "text/markdown", "application/octet-stream"])
  func aTextMayLookLikeAnObject(_ type: String?) async throws {
    let site = try await Site()
    for text in [
      "{web-1} restarted", "{{ host }} is down", "{'disk': '/'}", "{\"a\":1}\n{\"a\":2}",
    ] {
      #expect(try await site.publish(text, type: type).status == 200, "\(text)")
      #expect(try await site.last()["Message"] as? String == text)
    }
    #expect(try await site.publish("{web-1}", type: "application/json").status == 400)
  }

  @Test func anyKeyOfIdempotencyIsARetrysName() async throws {
    let site = try await Site()
    let key = "8e03978e-40d5-43dd-bc93-6894a57f9324"
    for given in [key, "\"\(key)\"", "a.b:c", String(repeating: "k", count: 65), "\""] {
      let first = try await site.publish("m", [("Idempotency-Key", given)])
      let again = try await site.publish("m", [("Idempotency-Key", given)])
      #expect(first.status == 200 && first.id == again.id, "\(given): \(first.object)")
    }
    // The quotation marks are the field's, not the key's.
    #expect(try await site.fixture.inbox("bert").count == 4)
  }

  @Test func formsInAnOlderCharsetAndMarksOfUTF8AreRead() async throws {
    let site = try await Site()
    let part = "--x\r\nContent-Disposition: form-data; name=message\r\n\r\n"
    let response = try await site.fixture.request(
      .post, "/publish", body: Array(part.utf8) + [0xfc] + Array("\r\n--x--\r\n".utf8),
      fields: [
        ("Authorization", "Bearer \(site.token)"),
        ("Content-Type", "multipart/form-data; boundary=x"),
      ])
    #expect(response.status == 200)
    #expect(try await site.last()["Message"] as? String == "\u{fc}")
    #expect(try await site.publish("\u{feff}from a shell").status == 200)
    #expect(try await site.last()["Message"] as? String == "from a shell")
  }

  @Test func titlesPrioritiesAndLinksComeInEachForm() async throws {
    let site = try await Site()
    let json = #"{"message":"m","title":"t","priority":7,"link":"https://h/","extras":{"a":[1]}}"#
    let form = "message=m&title=t&priority=7&click=https%3A%2F%2Fh%2F&type=info"
    let parts = ["message": "m", "title": "t", "priority": "7", "link": "https://h/"].map {
      "--x\r\nContent-Disposition: form-data; name=\"\($0.key)\"\r\n\r\n\($0.value)\r\n"
    }
    for (body, type) in [
      (json, "application/json"), (json, nil), (form, "application/x-www-form-urlencoded"),
      (parts.joined() + "--x--\r\n", "multipart/form-data; boundary=x"),
    ] as [(String, String?)] {
      #expect(try await site.publish(body, type: type).status == 200)
      let message = try await site.last()
      #expect(message["Message"] as? String == "m")
      #expect(message["Title"] as? String == "t")
      #expect(message["Priority"] as? Int == 7)
      #expect(message["Link"] as? String == "https://h/")
    }
    // As ntfy's clients do.
    for prefix in ["", "X-"] {
      let fields = [
        ("Title", "nt"), ("Priority", "urgent"), ("Click", "mailto:a@b"), ("Tags", "x"),
      ]
      let response = try await site.publish("n\(prefix)", fields.map { (prefix + $0.0, $0.1) })
      #expect(response.status == 200)
      let message = try await site.last()
      #expect(message["Title"] as? String == "nt")
      #expect(message["Priority"] as? Int == 10)
      #expect(message["Link"] as? String == "mailto:a@b")
    }
    // As `curl -F message=@FILE` does.
    let file =
      "--x\r\nContent-Disposition: form-data; name=message; filename=log\r\n\r\nlines\r\n--x--\r\n"
    let type = "multipart/form-data; boundary=x"
    #expect(try await site.publish(file, type: type).status == 200)
    #expect(try await site.last()["Message"] as? String == "lines")
  }

  @Test(arguments: [
    #"{"message":"x","priority":5.5}"#, #"{"message":"x","priority":true}"#,
    #"{"message":"x","priority":11}"#, #"{"message":"x","link":"javascript:alert(1)"}"#,
    #"{"message":"x","link":"data:text/html,x"}"#, #"{"message":"x","link":"https://a b"}"#,
  ])
  func aWrongPartIsDroppedAndTheMessageKept(_ body: String) async throws {
    let site = try await Site()
    let response = try await site.publish(body, type: "application/json")
    #expect(response.status == 200)
    #expect((response.object["Notes"] as? [String])?.count == 1)
    let message = try await site.last()
    #expect(message["Message"] as? String == "x")
    #expect(message["Priority"] == nil && message["Link"] == nil)
  }

  @Test func aLongTextIsKeptWholeInTheInbox() async throws {
    let site = try await Site()
    let text = String(repeating: "VM ok\n", count: 2000)
    let response = try await site.publish(
      text, type: "text/plain", [("Title", String(repeating: "t", count: 300))])
    #expect(response.object["Notes"] as? [String] == ["Title was cut to 256 bytes"])
    #expect(try await site.last()["Message"] as? String == text)
  }

  @Test func aRetryIsKnownByItsName() async throws {
    let site = try await Site()
    let first = try await site.publish("x", [("ClientId", "job-1")])
    let second = try await site.publish("x", [("Idempotency-Key", "job-1")])
    #expect(first.id != nil && first.id == second.id)
    #expect(try await site.fixture.inbox("bert").count == 1)
    #expect(try await site.publish("y", [("ClientId", "job-1")]).status == 409)
  }

  @Test func anAlertStormIsNotThrownAway() async throws {
    let site = try await Site("publish_burst = 2")
    let fields = [("User-Agent", "Alertmanager/0.27.0")]
    for _ in 0..<2 { #expect(try await site.publish("x", fields).status == 200) }
    let refused = try await site.publish("x", fields)
    #expect(refused.status == 503 && refused.fields.first(.retryAfter) != nil)
    #expect(try await site.publish("x").status == 429)
  }

  @Test func aTokenEndsWhenItIsUnused() async throws {
    let site = try await Site()
    for (days, status) in [(89, 200), (89, 200), (91, 403)] {
      site.fixture.clock.advance(by: .seconds(days * 86_400))
      #expect(try await site.publish("x").status == status)
    }
  }

  @Test func aLongSenderIsReadAndBlocked() async throws {
    let fixture = try await Fixture()
    let owner = String(repeating: "n", count: 64)
    for name in [owner, "bert"] { try await fixture.register(name) }
    let made = try await fixture.post(
      "/tokens", ["Username": owner, "Password": "pw", "Name": owner, "To": ["bert"]])
    let token = try #require(made.object["Token"] as? String)
    let sent = try await fixture.post("/publish?token=\(token)", ["message": "x"])
    let id = try #require(sent.id)
    let sender = "\(owner)/\(owner)"
    for (path, fields) in [
      ("/history", ["With": sender]), ("/read", ["With": sender, "Id": id]),
      ("/block", ["User": sender]), ("/unblock", ["User": sender]),
    ] {
      let all = fields.merging(["Username": "bert", "Password": "pw"]) { $1 }
      #expect(try await fixture.post(path, all).status == 200, "\(path)")
    }
  }

  @Test func alertmanagersNotificationsBecomeLines() async throws {
    let site = try await Site()
    let alerts = (0..<200).map { number in
      #"{"status":"firing","labels":{"alertname":"Disk"},"annotations":{"summary":"disk \#(number) full"}}"#
    }
    for count in [2, 200] {
      let body =
        #"{"version":"4","status":"firing","groupLabels":{"alertname":"Disk"},"alerts":["#
        + alerts.prefix(count).joined(separator: ",") + "]}"
      #expect(try await site.publish(body, type: "application/json").status == 200)
      let message = try await site.last()
      #expect(message["Title"] as? String == "[FIRING:\(count)] Disk")
      let text = try #require(message["Message"] as? String)
      #expect(text.hasPrefix("disk 0 full\ndisk 1 full"))
      #expect(text.hasSuffix("…") == (count > 2))
    }
  }

  @Test func tokensComeAsClientsSendThem() async throws {
    let site = try await Site()
    let basic = Data(":\(site.token)".utf8).base64EncodedString()
    #expect(try await site.publish("a", [("Authorization", "Basic \(basic)")]).status == 200)
    #expect(try await site.publish("b", [("X-Gotify-Key", site.token)]).status == 200)
    for path in ["/publish", "/message", "/msgr/message", "/publish/bert"] {
      #expect(try await site.publish("c", path: "\(path)?token=\(site.token)").status == 200)
    }
    let named = Data("anna:\(site.token)".utf8).base64EncodedString()
    let wrong = String(repeating: "0", count: 64)
    for field in ["Basic \(named)", "Basic !", "Bearer \(wrong)", "Bearer x", "Digest x"] {
      #expect(try await site.publish("d", [("Authorization", field)]).status == 403)
    }
  }

  @Test func aTokenCanDoNothingElse() async throws {
    let site = try await Site()
    for path in ["/contacts", "/inbox", "/sessions", "/tokens", "/export", "/logout"] {
      let response = try await site.fixture.post(path, ["Name": "x"], token: site.token)
      #expect(response.status == 403, "\(path)")
    }
    let fields = ["UserTo": "bert", "Message": "x"]
    // With such a token the path is Gotify's, whose requests have no recipient and another text.
    #expect(try await site.fixture.post("/message", fields, token: site.token).status == 400)
    // Nor send to others, and no account's token can publish.
    #expect(try await site.publish("x", path: "/publish/cleo").status == 200)
    #expect(try await site.publish("x", path: "/publish/dora").status == 403)
    let login = try await site.fixture.login("anna", device: "stream:anna-1234")
    #expect(try await site.publish("x", token: login).status == 403)
  }

  @Test func publishersAreListedAndEnded() async throws {
    let site = try await Site()
    let session = try await site.fixture.login("anna", device: "stream:anna-1234")
    let sessions = try await site.fixture.post("/sessions", [:], token: session).array
    let found = sessions.compactMap { $0 as? [String: Any] }.first {
      $0["Kind"] as? String == "publish"
    }
    #expect(found?["Device"] as? String == "ci")
    let name = try #require(found?["Session"] as? String)
    #expect(try await site.fixture.post("/sessions", ["End": name], token: session).status == 200)
    #expect(try await site.publish("x").status == 403)
  }

  @Test func nobodyElseCanBeTheSender() async throws {
    let site = try await Site()
    func register(_ name: String) async throws -> Int {
      try await site.fixture.post(
        "/register",
        ["Username": name, "Password": "pw", "DeviceID": Fixture.device("x\(name)")]
      ).status
    }
    // Not even before there is such a user, nor with an accent behind the slash.
    for name in ["anna/other", "nobody/other", "anna/\u{301}other", "anna\u{D4E}/other", "/", "a/"]
    {
      #expect(try await register(name) == 400, "\(name)")
    }
    for (name, status) in [("ci", 403), ("a/b", 400), ("", 400)] {
      let response = try await site.fixture.post(
        "/tokens", ["Username": "anna", "Password": "pw", "Name": name])
      #expect(response.status == status)
    }
    let unknown = try await site.fixture.post(
      "/tokens", ["Username": "anna", "Password": "pw", "Name": "x", "To": ["anybody"]])
    #expect(unknown.status == 403)
  }

  @Test func whoBlocksOwnerOrPublisherGetsNothing() async throws {
    let site = try await Site()
    for (name, blocked) in [("bert", "anna"), ("cleo", "anna/ci")] {
      let response = try await site.fixture.post(
        "/block", ["Username": name, "Password": "pw", "User": blocked])
      #expect(response.status == 200)
    }
    #expect(try await site.publish("x").status == 200)
    for name in ["bert", "cleo"] { #expect(try await site.fixture.inbox(name).isEmpty) }
  }

  @Test func aTokenSends60AMinute() async throws {
    let site = try await Site()
    for _ in 0..<60 { #expect(try await site.publish("x").status == 200) }
    let refused = try await site.publish("x")
    #expect(refused.status == 429)
    #expect(refused.fields.first(.retryAfter) != nil)
    let other = try await Site.token(site.fixture, "other", [])
    #expect(try await site.publish("x", token: other).status == 200)
    #expect(try await site.last(of: "anna")["UserFrom"] as? String == "anna/other")
  }

  @Test(arguments: [
    (#"{"title":"t"}"#, "Message"), (#"{"message":""}"#, "Message"), ("{", nil),
    (#"{"message":null}"#, "Message"), (#"{"message":"\u0000"}"#, "Message"),
  ])
  func whatIsFaultyIsRefused(_ body: String, _ field: String?) async throws {
    let site = try await Site()
    let response = try await site.publish(body, type: "application/json")
    #expect(response.status == 400)
    #expect(response.field == field)
    #expect(try await site.fixture.inbox("bert").isEmpty)
  }

  @Test func aPublisherWithAnAccentInFrontIsItsOwners() async throws {
    let site = try await Site()
    let token = try await Site.token(site.fixture, "\u{301}ci", ["bert"])
    #expect(try await site.publish("x", token: token).status == 200)
    #expect(try await site.last()["UserFrom"] as? String == "anna/\u{301}ci")
    let sender = UserName(stored: "anna/\u{301}ci")
    #expect(PublisherToken.owner(of: sender)?.text == "anna")
    // Its owner has an account, so that it can be blocked.
    let block = ["Username": "bert", "Password": "pw", "User": sender.text]
    #expect(try await site.fixture.post("/block", block).status == 200)
  }

  @Test func whoeverMayNotPublishIsToldNothingElse() async throws {
    let site = try await Site()
    let wrong = String(repeating: "0", count: 64)
    for path in ["/publish", "/publish/bert", "/publish/%00"] {
      #expect(
        try await site.publish("{", type: "application/json", path: path, token: wrong).status
          == 403)
      #expect(try await site.publish("{", type: "application/json", path: path).status == 400)
    }
  }
}
