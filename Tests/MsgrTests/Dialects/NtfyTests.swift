internal import Formats
internal import Foundation
internal import HTTPProtocol
internal import Platform
internal import Routing
internal import Storage
internal import TestSupport
internal import Testing

@testable import Msgr

/// Requests in ntfy's dialect.
@Suite(.ownThreads) struct NtfyTests {
  /// A service with two accounts.
  struct Site {
    let fixture: Fixture

    init(_ topics: String = "") async throws {
      fixture = try await Fixture("[msgr.topics]\n\(topics)")
      for name in ["anna", "bert"] { try await fixture.register(name) }
    }

    init(_ fixture: Fixture) { self.fixture = fixture }

    static func basic(_ name: String, _ secret: String = "pw") -> (name: String, value: String) {
      ("Authorization", "Basic \(Data("\(name):\(secret)".utf8).base64EncodedString())")
    }

    func request(
      _ method: HTTPProtocol.Method, _ path: String, _ body: String = "",
      _ fields: [(name: String, value: String)] = [], as name: String? = "anna"
    ) async throws -> TestResponse {
      try await fixture.request(
        method, path, body: Array(body.utf8),
        fields: fields + (name.map { [Self.basic($0)] } ?? []),
        isDialect: true)
    }

    func poll(_ query: String = "", topic: String = "alerts") async throws -> [[String: Any]] {
      let response = try await request(.get, "/\(topic)/json?poll=1\(query)")
      #expect(response.status == 200)
      return response.bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
        (try? JSONSerialization.jsonObject(with: Data(line))) as? [String: Any]
      }
    }
  }

  @Test func allFormsPublishTheSame() async throws {
    let site = try await Site()
    let fields = [("t", "T"), ("prio", "high"), ("ta", "a, b"), ("Click", "https://h/")]
    let json =
      #"{"topic":"alerts","message":"m","title":"T","priority":4,"tags":["a","b"],"click":"https://h/"}"#
    for (method, path, body, fields) in [
      (.put, "/alerts", "m", fields), (.post, "/alerts", "m", fields),
      (.get, "/alerts/publish?m=m&title=T&p=4&tags=a,b&click=https://h/", "", []),
      (.get, "/alerts/trigger?message=m", "", fields), (.post, "/", json, []),
      (.post, "/", #"{"topic":"alerts","message":"m","title":"T"}"#, Array(fields.dropFirst())),
    ] as [(HTTPProtocol.Method, String, String, [(String, String)])] {
      let response = try await site.request(method, path, body, fields)
      #expect(response.status == 200, "\(path)")
      let entry = response.object
      #expect(entry["message"] as? String == "m")
      #expect(entry["title"] as? String == "T")
      #expect(entry["priority"] as? Int == 4)
      #expect(entry["tags"] as? [String] == ["a", "b"])
      #expect(entry["click"] as? String == "https://h/")
      #expect((entry["id"] as? String)?.count == 12)
      #expect(entry["event"] as? String == "message" && entry["topic"] as? String == "alerts")
      #expect(entry["sequence_id"] == nil && entry["notes"] == nil)
    }
    #expect(try await site.poll().count == 6)
  }

  @Test func whatIsWrittenLooselyIsTakenAsItWasMeant() async throws {
    let site = try await Site()
    let capitals =
      #"{"Topic":"alerts","Message":"100%","Title":"Tür","Priority":4,"Actions":[{"Action":"view","Label":"Open","URL":"https://h/"}]}"#
    let latin1 = Array(capitals.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
    for (path, body, fields) in [
      ("/alerts?title=T%FCr&priority=4&message=100%", [], []),
      ("/alerts?title=T\u{fc}r&p=4&m=100%25", [], []), ("/", Array(capitals.utf8), []),
      ("/", latin1, []), ("/", [0xef, 0xbb, 0xbf] + Array(capitals.utf8), []),
      ("/alerts?t=T%C3%BCr&prio=4", Array("100%".utf8), [("X-Title", " "), ("Priority", "")]),
      (
        "/", Array(#"{"topic":"alerts","message":" 100%\n","title":"","priority":0}"#.utf8),
        [("X-Title", "Tür"), ("X-Priority", "high")]
      ),
    ] as [(String, [UInt8], [(String, String)])] {
      let response = try await site.fixture.request(
        .post, path, body: body, fields: fields + [Site.basic("anna")], isDialect: true)
      #expect(response.object["message"] as? String == "100%", "\(path)")
      #expect(response.object["title"] as? String == "Tür", "\(path)")
      #expect(response.object["priority"] as? Int == 4, "\(path)")
      #expect(response.object["notes"] == nil, "\(path)")
    }
    let actions = try await site.poll()[2]["actions"] as? [[String: Any]]
    #expect(actions?.first?["url"] as? String == "https://h/")
    #expect(try await site.request(.head, "/alerts/publish?message=x").status == 404)
    #expect(try await site.poll().count == 7)
  }

  @Test func pagesMayAskForEachPath() async throws {
    let site = try await Site()
    for path in [
      "/", "/alerts", "/a,b/json", "/alerts/sse", "/alerts/raw", "/alerts/ws", "/alerts/auth",
      "/alerts/publish", "/alerts/s1", "/alerts/s1/clear", "/v1/health", "/v1/account",
      "/v1/account/token", "/v1/other", "/config.js", "/file/x.png",
      "/_matrix/push/v1/notify",
    ] {
      let response = try await site.request(.options, path, as: nil)
      #expect(response.status == 200, "\(path)")
      #expect(
        response.fields.first(FieldName("Access-Control-Allow-Headers"))?.contains("Authorization")
          == true, "\(path)")
    }
    for (method, path) in [
      (.delete, "/v1/account/token"), (.get, "/v1/account/token"), (.post, "/v1/health"),
    ] as [(HTTPProtocol.Method, String)] {
      #expect(try await site.request(method, path).object["code"] as? Int == 40401, "\(path)")
    }
    #expect(try await site.request(.post, "/app", "x").object["code"] as? Int == 40010)
  }

  @Test func aPasswordThatHasEndedGetsNothingMore() async throws {
    let site = try await Site()
    #expect(try await site.request(.post, "/alerts", "x").status == 200)
    let token = try await site.fixture.login("anna", device: "stream:anna-1234")
    let store = site.fixture.service.service.store
    #expect(try await store.setDisabled(true, UserName(stored: "anna")))
    for (method, path, body) in [
      (.post, "/alerts", "x"), (.get, "/alerts/json?poll=1", ""),
      (.post, "/v1/account/token", "{}"), (.post, "/client", #"{"name":"phone"}"#),
    ] as [(HTTPProtocol.Method, String, String)] {
      #expect(try await site.request(method, path, body).status == 401, "\(path)")
    }
    let made = try await site.fixture.request(
      .post, "/msgr/topics/make", body: Array(#"{"Topic":"other"}"#.utf8),
      fields: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")])
    #expect(made.status == 403)
  }

  @Test func errorsHaveTheirCodes() async throws {
    let site = try await Site()
    #expect(try await site.request(.post, "/alerts", "x").status == 200)
    for (method, path, body, name, status, code) in [
      (.post, "/alerts", "x", nil, 403, 40301), (.post, "/other", "x", nil, 403, 40301),
      (.post, "/alerts", "x", "bert", 403, 40301), (.post, "/a.b", "x", "anna", 400, 40009),
      (.post, "/v1", "x", "anna", 400, 40010),
      (.post, "/", #"{"topic":"v1","message":"x"}"#, "anna", 400, 40010),
      (.get, "/alerts,v1/json?poll=1", "", "anna", 400, 40010),
      (.get, "/alerts/json?poll=1&since=!", "", "anna", 400, 40008),
      (.post, "/", "{", "anna", 400, 40024), (.get, "/v1/tiers", "", nil, 404, 40401),
      (.get, "/file/nothing.txt", "", nil, 404, 40401),
      (.get, "/alerts/ws", "", "anna", 400, 40016),
    ] as [(HTTPProtocol.Method, String, String, String?, Int, Int)] {
      let response = try await site.request(method, path, body, as: name)
      #expect(response.status == status, "\(path)")
      #expect(response.object["code"] as? Int == code, "\(path)")
      #expect(response.object["http"] as? Int == status)
      #expect(Set(response.object.keys) == ["code", "http", "error"])
    }
    let wrong = try await site.request(.post, "/alerts", "x", [Site.basic("anna", "no")], as: nil)
    #expect(wrong.status == 401 && wrong.object["code"] as? Int == 40101)
  }

  @Test func everyEntryIsWhatTheStrictestClientsDecode() async throws {
    let site = try await Site()
    let actions =
      "view, Open, https://h/; http, Do, https://h/, headers.a=b; broadcast, Say, extras.c=d; copy, Code, 42"
    _ = try await site.request(
      .post, "/alerts", "a\u{85}b\u{2028}c\u{2029}d\u{b}e\u{c}f",
      [("Actions", actions), ("Attach", "https://h/f.jpg")])
    _ = try await site.request(.put, "/alerts/s1", "x")
    _ = try await site.request(.put, "/alerts/s1/clear")
    _ = try await site.request(.delete, "/alerts/s1")
    let response = try await site.request(.get, "/alerts/json?poll=1")
    let text = String(decoding: response.bytes, as: UTF8.self)
    // Swift and Kotlin split at any of these.
    for scalar in ["\u{85}", "\u{2028}", "\u{2029}", "\u{b}", "\u{c}", "\r"] {
      #expect(!text.unicodeScalars.contains { String($0) == scalar })
    }
    #expect(!text.contains("null"))
    let entries = try text.split(separator: "\n").map {
      try JSONDecoder().decode(StrictEntry.self, from: Data($0.utf8))
    }
    #expect(entries.map(\.event) == ["message", "message_clear", "message_delete"])
    #expect(entries[0].actions?.count == 3 && entries[0].attachment?.name == "f.jpg")
    #expect(entries[0].message == "ab\u{2028}c\u{2029}def")
    #expect(entries[2].sequence_id == "s1")
  }

  /// What Android's and iOS's apps decode, each member with one type.
  private struct StrictEntry: Decodable {
    struct Action: Decodable {
      let id: String
      let action: String
      let label: String
      let clear: Bool
      let url: String?
      let headers: [String: String]?
      let extras: [String: String]?
    }

    struct Attachment: Decodable {
      let name: String
      let url: String
      let size: Int64?
      let expires: Int64?
    }

    let id: String
    let time: Int64
    let event: String
    let topic: String
    let message: String?
    let sequence_id: String?
    let priority: Int?
    let tags: [String]?
    let actions: [Action]?
    let attachment: Attachment?
  }

  @Test func aTokenThatHasEndedPublishesNothing() async throws {
    let site = try await Site()
    let session = try await site.fixture.login("anna", device: "stream:anna-00000001")
    let made = try await site.fixture.post(
      "/tokens", ["Name": "script", "Topics": ["alerts"]], token: session)
    let publisher = try #require(made.object["Token"] as? String)
    func publish(_ token: String) async throws -> Int {
      try await site.request(.put, "/alerts", "x", [("Authorization", "Bearer \(token)")], as: nil)
        .status
    }
    // The second time the token is remembered.
    for token in [session, session, publisher, publisher] {
      #expect(try await publish(token) == 200)
    }
    let account = ("Authorization", "Basic \(Data("bert:\(publisher)".utf8).base64EncodedString())")
    #expect(try await site.request(.put, "/alerts", "x", [account], as: nil).status == 401)
    let sessions = try await site.fixture.post("/sessions", [:], token: session).array
    let found = sessions.compactMap { $0 as? [String: Any] }.first {
      $0["Kind"] as? String == "publish"
    }
    let name = try #require(found?["Session"] as? String)
    #expect(try await site.fixture.post("/sessions", ["End": name], token: session).status == 200)
    for _ in 0..<2 { #expect(try await publish(publisher) == 401) }
    #expect(try await publish(session) == 200)
    #expect(try await site.fixture.post("/logout", [:], token: session).status == 200)
    for _ in 0..<2 { #expect(try await publish(session) == 401) }
    #expect(try await site.poll().count == 5)
  }

  @Test func anIdentifierCountsForAllTopics() async throws {
    let site = try await Site()
    var ids: [String] = []
    for number in 0..<6 {
      let topic = number.isMultiple(of: 2) ? "one" : "two"
      let response = try await site.request(.post, "/\(topic)", "\(number)")
      ids.append(try #require(response.object["id"] as? String))
    }
    let after = try await site.poll("&since=\(ids[2])", topic: "one,two")
    // Where several nodes may write, some of another topic may come again, and none is left out.
    let texts = after.compactMap { $0["message"] as? String }
    #expect(texts.suffix(3) == ["3", "4", "5"] && (texts.count == 3 || TestStore.isPostgreSQL))
    let unknown = try await site.poll("&since=AAAAAAAAAAAA", topic: "one,two")
    #expect(unknown.count == 6)
    let alone = try await site.request(.get, "/one,two/json?poll=1&id=\(ids[3])")
    #expect(alone.object["message"] as? String == "3")
    let latest = try await site.poll("&since=latest", topic: "one,two")
    #expect(latest.compactMap { $0["message"] as? String } == ["4", "5"])
  }

  @Test func aLongPollComesInPieces() async throws {
    let site = try await Site("burst = 1000")
    let text = String(repeating: "x", count: 20_000)
    for number in 0..<70 {
      let path = number.isMultiple(of: 3) ? "/one" : "/two"
      _ = try await site.request(.post, path, "\(number) \(text)")
    }
    let found = try await site.poll(topic: "one,two")
    let numbers = found.compactMap { ($0["message"] as? String)?.prefix { $0 != " " } }
    #expect(numbers.map(String.init) == (0..<70).map(String.init))
    #expect(try await site.poll(topic: "one").count == 24)
  }

  @Test func aRawLineHasABlankForEachLineBreak() async throws {
    let site = try await Site()
    for text in ["a\r\nb\nc\rd\r\r\n\ne", "ä", "plain"] {
      _ = try await site.request(.post, "/alerts", text)
    }
    _ = try await site.request(.put, "/alerts/s1/clear")
    let response = try await site.request(.get, "/alerts/raw?poll=1")
    #expect(String(decoding: response.bytes, as: UTF8.self) == "a b c d   e\nä\nplain\n\n")
  }

  @Test func filtersChooseMessages() async throws {
    let site = try await Site()
    for (text, priority, tags) in [("a", "5", "x,y"), ("b", "3", "x"), ("c", "1", "")] {
      _ = try await site.request(.post, "/alerts", text, [("p", priority), ("ta", tags)])
    }
    for (query, expected) in [
      ("&priority=5,1", ["a", "c"]), ("&tags=x", ["a", "b"]), ("&tags=x,y", ["a"]),
      ("&message=b", ["b"]), ("&title=t", []), ("&priority=default", ["b"]),
    ] {
      let found = try await site.poll(query)
      #expect(found.compactMap { $0["message"] as? String } == expected, "\(query)")
    }
  }

  @Test func delayedMessagesComeAtTheirTime() async throws {
    let site = try await Site()
    let topics = site.fixture.service.topics
    let task = Task { await topics.run() }
    defer { task.cancel() }
    let response = try await site.request(.put, "/alerts/job", "later", [("In", "30m")])
    let start = site.fixture.clock.now.seconds
    #expect(response.object["time"] as? Int64 == start + 1800)
    #expect(try await site.poll().isEmpty)
    #expect(try await site.poll("&sched=1").count == 1)
    // The same sequence replaces it, a deletion cancels it.
    _ = try await site.request(.put, "/alerts/job", "later still", [("In", "1h")])
    #expect(
      try await site.poll("&sched=1").compactMap { $0["message"] as? String } == ["later still"])
    site.fixture.clock.advance(by: .seconds(3601))
    try await until { try await site.poll().count == 1 }
    #expect(try await site.poll("&sched=1").count == 1)
    for words in ["whenever", "1"] {
      let noted = try await site.request(.post, "/alerts", "now", [("Delay", words)])
      #expect((noted.object["notes"] as? [String])?.count == 1)
    }
  }

  private func until(_ condition: () async throws -> Bool) async throws {
    for _ in 0..<200 {
      if try await condition() { return }
      try await Task.sleep(for: .milliseconds(20))
    }
    Issue.record("the condition never came true")
  }

  @Test func filesAreKeptAndSafelyServed() async throws {
    let site = try await Site("attachment_bytes = \"64KiB\"")
    let page = try await site.request(
      .put, "/alerts", "<script>alert(1)</script>",
      [("Filename", "../x/page.html"), ("m", #"a\nb"#)])
    #expect(page.object["message"] as? String == "a\nb")
    let attachment = try #require(page.object["attachment"] as? [String: Any])
    #expect(attachment["name"] as? String == "page.html")
    #expect(attachment["type"] as? String == "application/octet-stream")
    let url = try #require(attachment["url"] as? String)
    let path = try #require(url.range(of: "/file/")).lowerBound
    let file = try await site.request(.get, String(url[path...]), as: nil)
    #expect(file.fields.first(.contentTypeOptions) == "nosniff")
    #expect(file.fields.first(.contentSecurityPolicy) == "sandbox; default-src 'none'")
    #expect(file.fields.first(FieldName("Content-Disposition"))?.hasPrefix("attachment") == true)
    let part = try await site.request(
      .get, String(url[path...]), "", [("Range", "bytes=1-6")], as: nil)
    #expect(part.status == 206)
    let big = String(repeating: "\0", count: 70 << 10)
    let cut = try await site.request(.put, "/alerts", big, [("f", "big.bin"), ("t", "T")])
    #expect(cut.status == 200 && cut.object["attachment"] == nil)
    #expect(
      (cut.object["message"] as? String)?.hasSuffix(
        "[big.bin was not kept: 70 KB is more than 64 KB]") == true)
    let refused = try await site.request(.put, "/alerts", big)
    #expect(refused.status == 413 && refused.object["code"] as? Int == 41301)
    // More than four times the largest file isn't read.
    let huge = String(repeating: "\0", count: (256 << 10) + 1)
    let unread = try await site.request(.put, "/alerts", huge, [("f", "huge.bin"), ("t", "T")])
    #expect(unread.status == 413)
  }

  @Test func whatIsNotThereIsNotFoundInTheFormOfItsPlace() async throws {
    let site = try await Site()
    let methods: [HTTPProtocol.Method] = [.get, .put, .post, .delete, .patch]
    for method in methods {
      for path in ["/alerts/", "/a.b/", "/v1/nothing", "/docs/x"] {
        let response = try await site.request(method, path, "x")
        #expect(response.status == 404, "\(method.name) \(path)")
        #expect(Set(response.object.keys) == ["code", "http", "error"])
      }
      for path in [
        "/msgr/nothing", "/msgr/nothing/", "/msgr/a/b/c/d", "/msgr/wallet-login", "/msgr/topics/x",
        "/msgr/x/json", "/msgr/x/publish",
      ] {
        let response = try await site.request(method, path, "x")
        #expect(response.status == 404, "\(method.name) \(path)")
        #expect(response.object as? [String: String] == ["error": "there is no such path"])
      }
    }
    let page = try await site.request(.get, "/msgr/nothing", "", [("Accept", "text/html,*/*")])
    #expect(page.status == 404 && page.fields.first(.contentType)?.hasPrefix("text/html") == true)
  }

  @Test func aBodyWithoutALengthIsRefusedInTheFormOfItsPath() async throws {
    try await withRunning("[msgr.topics]\nattachment_bytes = \"64KiB\"") { running in
      let folder = TemporaryFolder(["body": String(repeating: "x", count: (256 << 10) + 1)])
      try await running.fixture.register("anna")
      let made = try await running.fixture.post(
        "/tokens", ["Username": "anna", "Password": "pw", "Name": "ci"])
      let token = try #require(made.object["Token"] as? String)
      func refusal(_ path: String) throws -> [String: Any] {
        let output = try ChildProcess.run(
          "curl",
          [
            "-sS", "-u", ":\(token)", "-H", "Transfer-Encoding: chunked", "--data-binary",
            "@\(folder.path)/body",
            "http://127.0.0.1:\(running.port)\(path)",
          ]
        ).output
        return try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any] ?? [:]
      }
      for path in ["/inbox", "/publish?f=x"] {
        let error = try refusal(path)
        #expect(error as? [String: String] == ["error": "Content Too Large"], "\(path)")
      }
      let ofTopic = try refusal("/alerts")
      #expect(ofTopic["code"] as? Int == 41301)
    }
  }

  @Test func unifiedPushWaitsForASubscriber() async throws {
    let site = try await Site()
    let path = "/upAbcdefghij12"
    #expect(try await site.request(.post, "\(path)?up=1", "x", as: nil).status != 200)
    #expect(try await site.request(.get, "\(path)?up=1", as: nil).object["unifiedpush"] != nil)
    #expect(try await site.request(.get, "\(path)/json?poll=1").status == 200)
    let text = try await site.request(.post, "\(path)?up=1", " x ", as: nil)
    #expect(text.object["message"] as? String == " x ")
    let long = String(repeating: "y", count: 4097)
    #expect(try await site.request(.post, "\(path)?up=1", long, as: nil).status == 413)
    let matrix = #"{"notification":{"devices":[{"pushkey":"http://h\#(path)?up=1"}]}}"#
    let notified = try await site.request(.post, "/_matrix/push/v1/notify", matrix, as: nil)
    #expect(String(decoding: notified.bytes, as: UTF8.self) == #"{"rejected":[]}"#)
  }

  @Test func aSubscriptionIsAChat() async throws {
    let site = try await Site()
    _ = try await site.request(.post, "/alerts", "before")
    let fixture = site.fixture
    let anna = ["Username": "anna", "Password": "pw", "Topic": "alerts"]
    let bert = ["Username": "bert", "Password": "pw", "Topic": "alerts"]
    #expect(try await fixture.post("/msgr/topics/subscribe", bert).status == 403)
    let allowed = anna.merging(["User": "bert", "Access": "read"]) { $1 }
    #expect(try await fixture.post("/msgr/topics/access", allowed).status == 200)
    #expect(try await fixture.post("/msgr/topics/subscribe", bert).object["Push"] as? Bool == true)
    _ = try await site.request(.put, "/alerts/s", "after", [("Title", "T"), ("tags", "warning")])
    let message = try #require(try await fixture.inbox("bert").last)
    #expect(message["UserFrom"] as? String == "#alerts" && message["Topic"] as? String == "alerts")
    #expect(message["Title"] as? String == "T" && message["Sequence"] as? String == "s")
    let history = try await fixture.post("/history", bert)
    #expect(history.array.count == 2)
    _ = try await site.request(.delete, "/alerts/s")
    #expect(try await fixture.inbox("bert").isEmpty)
    // A user who loses access loses the subscription.
    let denied = anna.merging(["User": "bert", "Access": "deny"]) { $1 }
    #expect(try await fixture.post("/msgr/topics/access", denied).status == 200)
    _ = try await site.request(.post, "/alerts", "secret")
    #expect(try await fixture.inbox("bert").isEmpty)
    #expect(try await fixture.post("/msgr/topics/remove", bert).status == 403)
    #expect(
      try await fixture.post("/msgr/topics/remove", anna).object["Status"] as? String == "removed")
  }

  @Test func aSequenceHasItsLastMessages() async throws {
    let site = try await Site("burst = 1000\nmessages = 30")
    let fixture = site.fixture
    let anna = ["Username": "anna", "Password": "pw", "Topic": "alerts"]
    #expect(try await fixture.post("/msgr/topics/subscribe", anna).status == 200)
    _ = try await site.request(.put, "/alerts", "other")
    for number in 0..<40 { _ = try await site.request(.put, "/alerts/s", "\(number)") }
    let expected = ["other"] + (20..<40).map { "\($0)" }
    #expect(try await site.poll().compactMap { $0["message"] as? String } == expected)
    #expect(try await fixture.texts("anna") == expected)
    // Nobody is shown what was deleted, whether the copies are gone or not.
    func messages() async throws -> Int? {
      try await fixture.store.read { try $0.value("SELECT count(*) FROM msgr_messages") }
    }
    #expect(try await messages() == 41)
    #expect(try await site.request(.delete, "/alerts/s").status == 200)
    #expect(try await messages() == 41)
    #expect(try await fixture.texts("anna") == ["other"])
    let history = ["Username": "anna", "Password": "pw", "With": "#alerts"]
    #expect(try await fixture.post("/history", history).array.count == 1)
    let page = try await site.request(.get, "/message").object["messages"] as? [Any]
    #expect(page?.count == 1)
    // What was begun before a crash is done later.
    while try await fixture.service.topics.store.removeCopies() {}
    #expect(try await messages() == 1)
    let left: Int? = try await fixture.store.read {
      try $0.value("SELECT count(*) FROM msgr_topic_removals")
    }
    #expect(left == 0)
  }

  @Test func topicsHaveLimits() async throws {
    let site = try await Site("topics_per_account = 2\nmessages = 3\nwaiting = 1\nburst = 20")
    for topic in ["one", "two"] {
      #expect(try await site.request(.post, "/\(topic)", "x").status == 200)
    }
    let third = try await site.request(.post, "/three", "x")
    #expect(third.status == 429 && third.object["code"] as? Int == 42904)
    for number in 0..<5 { _ = try await site.request(.post, "/one", "\(number)") }
    #expect(
      try await site.poll(topic: "one").compactMap { $0["message"] as? String } == ["2", "3", "4"])
    #expect(try await site.request(.post, "/one", "x", [("In", "1h")]).status == 200)
    #expect(try await site.request(.post, "/one", "x", [("In", "1h")]).status == 429)
    var last = try await site.request(.post, "/one", "x")
    for _ in 0..<20 where last.status == 200 { last = try await site.request(.post, "/one", "x") }
    #expect(last.status == 429 && last.object["code"] as? Int == 42901)
    #expect(last.fields.first(.retryAfter) != nil)
  }

  @Test func numbersAreReal() async throws {
    let site = try await Site("attachment_bytes = \"64KiB\"")
    for _ in 0..<6 { _ = try await site.request(.post, "/alerts", "x") }
    _ = try await site.request(.put, "/alerts", "a file", [("Filename", "f.txt")])
    let stats = try await site.request(.get, "/v1/stats", as: nil).object
    #expect(stats["messages"] as? Int == 7)
    #expect(stats["messages_rate"] as? Double ?? 0 > 0.1)
    site.fixture.clock.advance(by: .seconds(120))
    let later = try await site.request(.get, "/v1/stats", as: nil).object
    #expect(later["messages_rate"] as? Double == 0)
    // Home Assistant's library demands all of these, even of who has no account.
    for (name, sent, kept) in [("anna", 7, 6), (nil, 0, 0)] as [(String?, Int, Int)] {
      let account = try await site.request(.get, "/v1/account", as: name).object
      #expect(account["username"] as? String == name ?? "*")
      let numbers = try #require(account["stats"] as? [String: Int])
      #expect(numbers["messages"] == sent)
      #expect(numbers["attachment_total_size"] == kept)
      #expect(
        Set(numbers.keys) == [
          "messages", "messages_remaining", "emails", "emails_remaining", "calls",
          "calls_remaining", "reservations", "reservations_remaining", "attachment_total_size",
          "attachment_total_size_remaining",
        ])
      let limits = try #require(account["limits"] as? [String: Any])
      #expect(limits["attachment_file_size"] as? Int == 64 << 10)
    }
    let version = try await site.request(.get, "/v1/version").object
    #expect((version["date"] as? String)?.first?.isNumber == true)
  }

  @Test func aWrongPartLeavesTheRest() async throws {
    let site = try await Site()
    let cases: [(fields: [(String, String)], query: String, check: ([String: Any]) -> Bool)] = [
      // An action that is malformed is dropped alone.
      (
        [("Actions", "view, One, https://h/1; view, \"Two, https://h/2")], "",
        { ($0["actions"] as? [Any])?.count == 1 && ($0["notes"] as? [Any])?.count == 1 }
      ),
      (
        [("Actions", "view, \"One\" x, https://h/1; view, Two, https://h/2")], "",
        { ($0["actions"] as? [[String: Any]])?.first?["label"] as? String == "Two" }
      ),
      // The field of a proxy (RFC 9218) doesn't hide the program's own.
      ([("Priority", "u=3, i")], "?p=5", { $0["priority"] as? Int == 5 }),
      ([("Priority", "u=1")], "", { $0["priority"] == nil && $0["notes"] == nil }),
      ([("Priority", "whatever")], "", { ($0["notes"] as? [Any])?.count == 1 }),
      // A name beside the address of a file elsewhere is that file's.
      (
        [("Attach", "https://h/x?y"), ("Filename", "camera.jpg")], "",
        {
          ($0["attachment"] as? [String: Any])?["name"] as? String == "camera.jpg"
            && $0["message"] as? String == "m"
        }
      ),
    ]
    for item in cases {
      let answer = try await site.request(.post, "/alerts\(item.query)", "m", item.fields)
      #expect(answer.status == 200 && item.check(answer.object), "\(item.fields)")
    }
    // A library sends null for all that isn't said.
    let json =
      #"{"topic":"alerts","message":"m","title":null,"actions":[],"click":null,"email":null,"call":null,"delay":null,"sequence_id":null,"tags":[],"markdown":false,"priority":null}"#
    let answer = try await site.request(.post, "/", json).object
    #expect(answer["message"] as? String == "m" && answer["notes"] == nil)
    // A long text in JSON is cut as well.
    let long = String(repeating: "x", count: 70 << 10)
    let cut = try await site.request(.post, "/", #"{"topic":"alerts","message":"\#(long)"}"#)
    #expect(cut.status == 200 && (cut.object["notes"] as? [Any])?.count == 1)
  }

  @Test func aFileBeyondTheDaysBytesLeavesItsAlert() async throws {
    let site = try await Site("bandwidth = \"4KiB\"\nattachment_bytes = \"64KiB\"")
    let file = String(repeating: "x", count: 3000)
    let fields = [("Filename", "f.txt")]
    #expect(try await site.request(.put, "/alerts", file, fields).object["attachment"] != nil)
    let alert = try await site.request(.put, "/alerts", file, fields + [("Title", "Door")])
    #expect(alert.status == 200 && alert.object["attachment"] == nil)
    #expect((alert.object["message"] as? String)?.hasSuffix("are used up]") == true)
    let refused = try await site.request(.put, "/alerts", file, fields)
    #expect(refused.status == 429 && refused.object["code"] as? Int == 42905)
    #expect(refused.fields.first(.retryAfter) != nil)
  }

  @Test func pagesOfAnyOriginGetEveryAnswer() async throws {
    let site = try await Site()
    let field = FieldName("Access-Control-Allow-Origin")
    for (method, path) in [
      (.get, "/alerts/json?poll=1"), (.get, "/v1/nothing"), (.get, "/_matrix/push/v1/notify"),
      (.get, "/alerts/ws"), (.get, "/file/nothing.txt"), (.post, "/docs"), (.options, "/alerts"),
    ] as [(HTTPProtocol.Method, String)] {
      let response = try await site.request(method, path)
      #expect(response.fields.first(field) == "*", "\(method) \(path)")
    }
    let without = try await Site("cors = false")
    #expect(try await without.request(.get, "/alerts/json?poll=1").fields.first(field) == nil)
  }

  @Test func browsersAreSentToThePage() async throws {
    let site = try await Site()
    for (path, view) in [("/alerts", "#%23alerts"), ("/app", ""), ("/settings", "")] {
      let response = try await site.request(.get, path, "", [("Accept", "text/html,*/*")])
      #expect(response.status == 303 && response.fields.first(.location) == "/msgr/\(view)")
      #expect(try await site.request(.get, path).status == 404)
    }
  }

  @Test func anExportHasTopics() async throws {
    let site = try await Site()
    for number in 0..<120 {
      site.fixture.clock.advance(by: .seconds(5))
      _ = try await site.request(.post, number.isMultiple(of: 2) ? "/one" : "/two", "\(number)")
    }
    _ = try await site.request(.post, "/one", "later", [("In", "1h")])
    let anna = ["Username": "anna", "Password": "pw"]
    let allowed = anna.merging(["Topic": "one", "User": "bert", "Access": "read"]) { $1 }
    #expect(try await site.fixture.post("/msgr/topics/access", allowed).status == 200)
    let export = try await site.fixture.post("/export", anna).object
    let topics = try #require(export["Topics"] as? [[String: Any]])
    #expect(topics.compactMap { $0["Topic"] as? String } == ["one", "two"])
    #expect(topics.first?["Users"] as? [String: String] == ["bert": "read"])
    #expect((export["Waiting"] as? [[String: Any]])?.first?["Message"] as? String == "later")
    let messages = try #require(export["TopicMessages"] as? [[String: Any]])
    #expect(messages.count == 120 && messages.first?["Topic"] as? String == "one")
    let other = try await site.fixture.post(
      "/export", ["Username": "bert", "Password": "pw"]
    ).object
    #expect((other["TopicMessages"] as? [Any])?.isEmpty == true)
    #expect((other["Topics"] as? [[String: Any]])?.first?["Owner"] as? String == "anna")
  }

  @Test func openTopicsAreEverybodys() async throws {
    let site = try await Site("access = \"open\"")
    #expect(try await site.request(.post, "/anything", "x", as: nil).status == 200)
    #expect(try await site.request(.get, "/anything/json?poll=1", as: nil).status == 200)
    // A client with wrong credentials is told so even here.
    let wrong = try await site.request(
      .get, "/anything/auth", "", [Site.basic("anna", "no")], as: nil)
    #expect(wrong.status == 401)
    #expect(try await site.request(.post, "/mine", "x").status == 200)
    #expect(try await site.request(.get, "/mine/auth", as: nil).status == 403)
  }

  @Test func theNamesOfAllRoutesAreReserved() async throws {
    let fixture = try await Fixture()
    var router = Router(service: "msgr")
    fixture.service.register(on: &router)
    for pattern in ([router] + fixture.service.dialectRouters()).flatMap(\.patterns) {
      let first = pattern.dropFirst().prefix { $0 != "/" }
      guard TopicName.isWellFormed(String(first)) else { continue }
      #expect(ReservedTopics.names.contains(String(first)), "\(pattern)")
    }
  }

  @Test func aReservedNameIsNotFoundWhereNoServiceHasIt() async throws {
    let site = try await Site()
    var router = Router(service: "msgr")
    site.fixture.service.register(on: &router)
    let patterns = ([router] + site.fixture.service.dialectRouters()).flatMap(\.patterns)
    let served = Set(patterns.map { $0.dropFirst().prefix { $0 != "/" } })
    let contract = "0x" + String(repeating: "aB", count: 20)
    for name in ReservedTopics.names.filter({ !served.contains($0[...]) }) + [contract] {
      for (method, path) in [
        (.get, ""), (.put, ""), (.post, ""), (.delete, ""), (.patch, ""), (.get, "/json?poll=1"),
        (.get, "/json"), (.get, "/sse"), (.get, "/raw"), (.get, "/auth"), (.get, "/publish?m=x"),
        (.put, "/s"), (.get, "/s"), (.delete, "/s"), (.patch, "/s"), (.put, "/s/clear"),
      ] as [(HTTPProtocol.Method, String)] {
        let response = try await site.request(method, "/\(name)\(path)", "x")
        // ntfy's own names are nothing else's.
        let isTopic = path == "" && [.put, .post].contains(method) || path == "/publish?m=x"
        let code = isTopic && ReservedTopics.ntfy.contains(name) ? 40010 : 40401
        #expect(response.status == code / 100, "\(method.name) /\(name)\(path)")
        #expect(response.object["code"] as? Int == code)
      }
    }
    for path in ["/login/json", "/message/auth", "/publish/a/clear"] {
      #expect(try await site.request(.put, path, "x").object["code"] as? Int != 40010, "\(path)")
    }
    // A topic is there for these alone, and says so.
    for (path, method) in [("/alerts", HTTPProtocol.Method.delete), ("/alerts/s", .patch)] {
      let response = try await site.request(method, path, "x")
      #expect(response.status == 405 && response.fields.first(.allow)?.contains("PUT") == true)
    }
  }
}
