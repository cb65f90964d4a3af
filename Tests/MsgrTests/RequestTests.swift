internal import HTTPProtocol
internal import Storage
internal import TestSupport
internal import Testing

@testable import Msgr

/// Each row of the protocol's tables, through the router.
@Suite struct RequestTests {
  static let paths = [
    "/register", "/login", "/logout", "/delete", "/contacts", "/add", "/unfriend", "/block",
    "/unblock", "/message", "/inbox",
  ]

  /// All paths but `/message`, which Gotify's clients read and delete at.
  static let onlyPosted = paths.filter { $0 != "/message" }

  @Test(arguments: onlyPosted, [HTTPProtocol.Method.get, .put, .delete, .options, .head])
  func takeNoOtherMethod(_ path: String, _ method: HTTPProtocol.Method) async throws {
    let response = try await Fixture().request(method, path)
    #expect(response.status == 405)
    #expect(response.fields.first(.allow) == "POST")
  }

  @Test(arguments: paths) func needFields(_ path: String) async throws {
    let response = try await Fixture().post(path, [:])
    #expect(response.status == 400)
    let field = ["/message": "UserFrom", "/logout": "TokenDigest"][path] ?? "Username"
    #expect(response.field == field)
  }

  /// Every field of every request, left out, empty, no string, and too long.
  @Test(arguments: [
    ("/register", ["Username", "Password", "DeviceID"]),
    ("/login", ["Username", "Password", "DeviceID"]),
    ("/contacts", ["Username", "Password"]), ("/add", ["Username", "Password", "AddUser"]),
    ("/message", ["UserFrom", "Password", "UserTo", "Message"]),
    ("/unfriend", ["Username", "User"]),
    ("/block", ["User"]), ("/unblock", ["User"]), ("/delete", ["Password"]),
    ("/inbox", ["Username"]),
  ])
  func sayWhichFieldIsWrong(_ path: String, _ names: [String]) async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    let whole: [String: Any] = [
      "Username": "anna", "UserFrom": "anna", "Password": "pw", "DeviceID": Fixture.device("a"),
      "AddUser": "bert", "UserTo": "bert", "User": "bert", "Message": "m",
    ]
    for name in names {
      var fields = whole
      fields[name] = nil
      var wrong = [fields]
      for value: Any in ["", 1, ["x"], "a\u{1}", String(repeating: "x", count: 201)]
      where !(name == "Message" && value as? String == String(repeating: "x", count: 201)) {
        fields[name] = value
        wrong.append(fields)
      }
      for fields in wrong {
        let response = try await fixture.post(path, fields)
        #expect(response.status == 400, "\(path) \(name) \(fields[name] ?? "-")")
        #expect(response.field == name)
      }
    }
  }

  @Test func registerOnce() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna")
    #expect(token.utf8.count == 64)
    let again = try await fixture.post(
      "/register", ["Username": "anna", "Password": "pw", "DeviceID": Fixture.device("x")])
    #expect(again.status == 403)
    #expect(again.object["error"] as? String == "Forbidden")
    // The same name in another normalization form.
    try await fixture.register("zo\u{eb}")
    let other = try await fixture.post(
      "/register", ["Username": "zoe\u{308}", "Password": "pw", "DeviceID": Fixture.device("x")])
    #expect(other.status == 403)
  }

  /// Every path with fields that are missing or wrong.
  private static let faulty: [(path: String, fields: [String: String])] = [
    ("/login", [:]), ("/password", [:]), ("/sessions", ["End": ""]), ("/delete", [:]),
    ("/add", [:]),
    ("/unfriend", [:]), ("/block", [:]), ("/unblock", [:]), ("/message", [:]),
    ("/inbox", ["Since": "x"]), ("/history", [:]), ("/read", [:]), ("/tokens", [:]),
    ("/subscribe", [:]),
  ]

  @Test(arguments: faulty)
  func onlyWhoMayActIsToldWhatIsWrong(_ path: String, _ fields: [String: String]) async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna")
    let wrong = String(repeating: "0", count: 64)
    let name = path == "/message" ? "UserFrom" : "Username"
    let isRefused = path != "/sessions"
    if !["/login", "/password", "/delete"].contains(path) {
      #expect(try await fixture.post(path, fields, token: token).status == (isRefused ? 400 : 403))
      #expect(try await fixture.post(path, fields, token: wrong).status == 403)
    }
    for (password, status) in [("no", 403), ("pw", isRefused ? 400 : 403)]
    where path != "/delete" || password == "no" {
      let all = fields.merging([name: "anna", "Password": password]) { $1 }
      #expect(try await fixture.post(path, all).status == status, "\(password)")
    }
    // Without credentials, these are what is missing.
    #expect(try await fixture.post(path, fields).field == name)
  }

  @Test func aBodyThatCannotBeReadIsJudgedForUsersOnly() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna")
    for (token, status) in [(token, 400), (String(repeating: "0", count: 64), 403)] {
      let response = try await fixture.request(
        .post, "/subscribe", body: Array("{".utf8), fields: [("Authorization", "Bearer \(token)")])
      #expect(response.status == status)
    }
  }

  @Test func wrongCredentialsAreAllTheSame() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    let wrong = try await fixture.post("/contacts", ["Username": "anna", "Password": "no"])
    let unknown = try await fixture.post("/contacts", ["Username": "nobody", "Password": "pw"])
    #expect(wrong.status == 403 && unknown.status == 403)
    #expect(wrong.bytes == unknown.bytes)
    #expect(wrong.fields == unknown.fields)
  }

  @Test func aLoginMovesTheDevice() async throws {
    let fixture = try await Fixture()
    let annas = try await fixture.register("anna", device: Fixture.device("phone"))
    try await fixture.register("bert", device: "stream:bert-0001")
    let login = try await fixture.post(
      "/login",
      ["Username": "bert", "Password": "pw", "DeviceID": Fixture.device("phone").uppercased()])
    let berts = try #require(login.object["Token"] as? String)
    #expect(try await fixture.post("/contacts", [:], token: annas).status == 403)
    #expect(try await fixture.post("/contacts", [:], token: berts).status == 200)
    let users: [String] = try await fixture.store.read { snapshot in
      try snapshot.all(
        "SELECT username FROM msgr_devices WHERE device_id = ?", Fixture.device("phone")
      ) {
        try $0[0]
      }
    }
    #expect(users == ["bert"])
  }

  @Test func aStreamsNameBelongsToItsUser() async throws {
    let fixture = try await Fixture()
    let annas = try await fixture.register("anna", device: "stream:the-phone")
    let berts = try await fixture.register("bert", device: "stream:the-phone")
    for (token, name) in [(annas, "anna"), (berts, "bert")] {
      let message = ["UserTo": name, "Message": "m"]
      #expect(try await fixture.post("/message", message, token: token).status == 200)
    }
    // One's own is replaced, and ended.
    let login = try await fixture.post(
      "/login", ["Username": "bert", "Password": "pw", "DeviceID": "stream:the-phone"])
    #expect(login.status == 200)
    #expect(try await fixture.post("/contacts", [:], token: berts).status == 403)
    #expect(try await fixture.post("/contacts", [:], token: annas).status == 200)
    #expect(try await fixture.post("/logout", [:], token: annas).status == 200)
    let devices: Int? = try await fixture.store.read { snapshot in
      try snapshot.one("SELECT count(*) FROM msgr_devices") { try $0[0] }
    }
    #expect(devices == 1)
  }

  @Test func aNewLoginReplacesTheToken() async throws {
    let fixture = try await Fixture()
    let first = try await fixture.register("anna")
    let login = try await fixture.post(
      "/login", ["Username": "anna", "Password": "pw", "DeviceID": Fixture.device("anna")])
    let second = try #require(login.object["Token"] as? String)
    #expect(try await fixture.post("/contacts", [:], token: first).status == 403)
    #expect(try await fixture.post("/contacts", [:], token: second).status == 200)
  }

  @Test func tokensReplaceNameAndPassword() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna")
    try await fixture.register("bert")
    let message = ["UserTo": "bert", "Message": "m"]
    #expect(try await fixture.post("/message", message, token: token).status == 200)
    let same = message.merging(["UserFrom": "anna"]) { $1 }
    #expect(try await fixture.post("/message", same, token: token).status == 200)
    let other = message.merging(["UserFrom": "bert", "Password": "pw"]) { $1 }
    #expect(try await fixture.post("/message", other, token: token).status == 403)
    #expect(try await fixture.post("/message", message, token: "no").status == 403)
    // A request for a token takes none.
    #expect(
      try await fixture.post("/login", ["DeviceID": Fixture.device("x")], token: token).field
        == "Username")
    // With no body at all.
    let bare = try await fixture.request(
      .post, "/contacts", fields: [("Authorization", "Bearer \(token)")])
    #expect(bare.status == 200)
  }

  @Test func logoutEndsTheToken() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna")
    #expect(
      try await fixture.post("/logout", ["Username": "anna", "Password": "pw"]).status == 403)
    #expect(try await fixture.post("/logout", [:], token: token).status == 200)
    #expect(try await fixture.post("/logout", [:], token: token).status == 403)
    let devices: Int? = try await fixture.store.read { snapshot in
      try snapshot.one("SELECT count(*) FROM msgr_devices") { try $0[0] }
    }
    #expect(devices == 0)
  }

  @Test func friendsAreMadeByAskingAndAgreeing() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "cleo", "bert"] { try await fixture.register(name) }
    func add(_ name: String, _ friend: String) async throws -> String? {
      // As the protocol's text spells it.
      let response = try await fixture.post(
        "/add", ["Username": name, "Passwword": "pw", "AddUser": friend])
      return response.object["Status"] as? String
    }
    #expect(try await add("anna", "bert") == "requested")
    #expect(try await add("anna", "bert") == "requested")
    let request = try #require(try await fixture.inbox("bert").first)
    #expect(try await fixture.inbox("bert").count == 1)
    #expect(request["UserFrom"] as? String == "anna")
    #expect(request["Message"] as? String == "anna wants to add you")
    #expect(request["AddRequest"] as? Bool == true)
    #expect(try await add("bert", "anna") == "friends")
    #expect(try await add("anna", "bert") == "friends")
    #expect(try await fixture.inbox("anna").isEmpty)
    #expect(try await add("cleo", "anna") == "requested")
    #expect(try await add("anna", "cleo") == "friends")
    let contacts = try await fixture.post("/contacts", ["Username": "anna", "Password": "pw"])
    #expect(contacts.json as? [String] == ["bert", "cleo"])
    let unknown = try await fixture.post(
      "/add", ["Username": "anna", "Password": "pw", "AddUser": "nobody"])
    #expect(unknown.status == 403)
    let oneself = try await fixture.post(
      "/add", ["Username": "anna", "Password": "pw", "AddUser": "anna"])
    #expect(oneself.status == 400 && oneself.field == "AddUser")
    let end = try await fixture.post(
      "/unfriend", ["Username": "bert", "Password": "pw", "User": "anna"])
    #expect(end.status == 200)
    let left = try await fixture.post("/contacts", ["Username": "anna", "Password": "pw"])
    #expect(left.json as? [String] == ["cleo"])
  }

  @Test func messagesStandInTheInbox() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert"] { try await fixture.register(name) }
    let first = try #require(
      try await fixture.send("one\tline\r\nand two", from: "anna", to: "bert").id)
    fixture.clock.advance(by: .milliseconds(123))
    let second = try #require(try await fixture.send("two", from: "anna", to: "bert").id)
    #expect(first < second)
    let inbox = try await fixture.inbox("bert")
    #expect(inbox.map { $0["Id"] as? String } == [first, second])
    #expect(inbox[0]["Message"] as? String == "one\tline\r\nand two")
    #expect(inbox[1]["Time"] as? String == "2027-01-15T08:00:00.123Z")
    #expect(inbox[0]["AddRequest"] == nil)
    #expect(try await fixture.texts("bert", since: first) == ["two"])
    #expect(try await fixture.texts("bert", since: second).isEmpty)
    #expect(try await fixture.texts("bert", since: "0000000000000001").count == 2)
    #expect(try await fixture.texts("bert", since: "ffffffffffffffff").isEmpty)
    let malformed = try await fixture.post(
      "/inbox", ["Username": "bert", "Password": "pw", "Since": "1"])
    #expect(malformed.status == 400 && malformed.field == "Since")
    #expect(try await fixture.send("x", from: "anna", to: "nobody").status == 403)
    #expect(try await fixture.send("to myself", from: "anna", to: "anna").status == 200)
  }

  @Test func theInboxComesInPages() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert"] { try await fixture.register(name) }
    for number in 0..<150 { try await fixture.send("\(number)", from: "anna", to: "bert") }
    let first = try await fixture.inbox("bert")
    #expect(first.count == 100)
    let rest = try await fixture.texts("bert", since: first.last?["Id"] as? String)
    #expect(rest == (100..<150).map(String.init))
  }

  @Test func messagesThatFitNoPush() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert"] { try await fixture.register(name) }
    let long = try await fixture.send(String(repeating: "x", count: 4000), from: "anna", to: "bert")
    #expect(long.status == 413)
    let most = try await fixture.send(String(repeating: "x", count: 3800), from: "anna", to: "bert")
    #expect(most.status == 200)
  }

  @Test func whatIsNotAllowedHasItsReason() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert"] { try await fixture.register(name) }
    let phone = try await fixture.login("anna", device: Fixture.device("anna"))
    let made = try await fixture.post("/tokens", ["Name": "ci", "To": ["bert"]], token: phone)
    let publisher = try #require(made.object["Token"] as? String)
    let subscription = [
      "Endpoint": "https://push.example/x", "P256dh": SubscriptionTests.key,
      "Auth": SubscriptionTests.auth,
    ]
    let password = ["Username": "anna", "Password": "pw"]
    let wrong = String(repeating: "0", count: 64)
    for (path, fields, token, words) in [
      ("/tokens", ["Name": "ci"], phone, "a token of this Name"),
      ("/tokens", ["Name": "x", "To": ["nobody"]], phone, "a name in To"),
      ("/block", ["User": "nobody"], phone, "no such user"),
      ("/sessions", ["End": wrong], phone, "no such session"),
      ("/subscribe", subscription, phone, "a phone"),
      ("/subscribe", subscription.merging(password) { $1 }, nil, "Authorization: Bearer"),
      ("/unsubscribe", password, nil, "Authorization: Bearer"),
      ("/logout", password, nil, "Authorization: Bearer"),
      ("/publish", ["message": "x"], wrong, "not one that publishes"),
      ("/publish/anna", ["message": "x"], publisher, "no such recipient"),
      ("/msgr/topics/remove", ["Topic": "nothing"], phone, "the topic"),
    ] as [(String, [String: Any], String?, String)] {
      let response = try await fixture.post(path, fields, token: token)
      #expect(response.status == 403, "\(path)")
      #expect(response.object["code"] as? String == "denied")
      let error = response.object["error"] as? String ?? ""
      #expect(error.contains(words), "\(path) says \(error)")
    }
    // The first protocol's requests, and wrong credentials, tell nothing.
    for (path, fields) in [
      ("/add", ["AddUser": "nobody"]), ("/message", ["UserTo": "nobody", "Message": "x"]),
    ] {
      let response = try await fixture.post(path, fields, token: phone)
      #expect(response.object as? [String: String] == ["error": "Forbidden"])
    }
    for path in ["/block", "/tokens", "/logout", "/topics"] {
      let response = try await fixture.post("/msgr\(path)", [:], token: wrong)
      #expect(response.object as? [String: String] == ["error": "Forbidden"])
    }
  }

  @Test func theBlockedNoticeNothing() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert"] { try await fixture.register(name) }
    func asBert(_ path: String, _ user: String) async throws -> TestResponse {
      try await fixture.post(path, ["Username": "bert", "Password": "pw", "User": user])
    }
    let before = try #require(try await fixture.send("before", from: "anna", to: "bert").id)
    #expect(try await asBert("/block", "anna").status == 200)
    #expect(try await asBert("/block", "anna").status == 200)
    let blocked = try await fixture.send("blocked", from: "anna", to: "bert")
    #expect(blocked.status == 200)
    #expect(try #require(blocked.id) > before)
    let asked = try await fixture.post(
      "/add", ["Username": "anna", "Password": "pw", "AddUser": "bert"])
    #expect(asked.object["Status"] as? String == "requested")
    #expect(try await fixture.texts("bert") == ["before"])
    #expect(try await asBert("/unblock", "anna").status == 200)
    let after = try #require(try await fixture.send("after", from: "anna", to: "bert").id)
    #expect(try #require(blocked.id) < after)
    #expect(try await fixture.texts("bert") == ["before", "after"])
    #expect(try await asBert("/block", "nobody").status == 403)
    #expect(try await asBert("/block", "bert").status == 400)
    #expect(try await asBert("/unblock", "nobody").status == 200)
  }

  @Test func deletingTakesAllAlong() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna")
    try await fixture.register("bert")
    for (name, friend) in [("anna", "bert"), ("bert", "anna")] {
      _ = try await fixture.post("/add", ["Username": name, "Password": "pw", "AddUser": friend])
    }
    try await fixture.send("to bert", from: "anna", to: "bert")
    try await fixture.send("to anna", from: "bert", to: "anna")
    _ = try await fixture.post("/block", ["Username": "bert", "Password": "pw", "User": "anna"])
    #expect(try await fixture.post("/delete", [:], token: token).field == "Password")
    #expect(try await fixture.post("/delete", ["Password": "no"], token: token).status == 403)
    #expect(try await fixture.post("/delete", ["Password": "pw"], token: token).status == 200)
    #expect(try await fixture.post("/contacts", [:], token: token).status == 403)
    #expect(
      try await fixture.post("/contacts", ["Username": "anna", "Password": "pw"]).status == 403)
    #expect(
      try await fixture.post("/contacts", ["Username": "bert", "Password": "pw"]).array.isEmpty)
    let annas: Int? = try await fixture.store.read { snapshot in
      try snapshot.one(
        """
        SELECT (SELECT count(*) FROM msgr_messages WHERE recipient = 'anna')
          + (SELECT count(*) FROM msgr_devices WHERE username = 'anna')
          + (SELECT count(*) FROM msgr_tokens WHERE username = 'anna')
          + (SELECT count(*) FROM msgr_contacts)
        """
      ) { try $0[0] }
    }
    #expect(annas == 0)
    // The messages that were sent are the recipient's, and so is the block.
    #expect(try await fixture.texts("bert").contains("to bert"))
    try await fixture.register("anna")
    try await fixture.send("again", from: "anna", to: "bert")
    #expect(try await !fixture.texts("bert").contains("again"))
  }
}
