internal import Foundation
internal import HTTPProtocol
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr

/// Sign-up, passwords, sessions and the export.
@Suite(.ownThreads) struct AccountTests {
  private func register(
    _ fixture: Fixture, _ name: String, password: String = "a password", invitation: String? = nil
  ) async throws -> TestResponse {
    var fields = [
      "Username": name, "Password": password, "DeviceID": Fixture.device(name),
    ]
    fields["Invitation"] = invitation
    return try await fixture.post("/register", fields)
  }

  @Test func newPasswordsHaveALeastLength() async throws {
    let fixture = try await Fixture("minimum_password = 8\n")
    let refused = try await register(fixture, "anna", password: "1234567")
    #expect(refused.status == 400)
    #expect(refused.field == "Password")
    #expect(try await register(fixture, "anna", password: "12345678").status == 200)
    // A login with a short one is just wrong.
    let login = try await fixture.post(
      "/login", ["Username": "anna", "Password": "1", "DeviceID": Fixture.device("anna")])
    #expect(login.status == 403)
    let change = try await fixture.post(
      "/password", ["Username": "anna", "Password": "12345678", "NewPassword": "short"])
    #expect(change.status == 400)
    #expect(change.field == "NewPassword")
  }

  @Test func closedSignupLeavesAccountsToTheOperator() async throws {
    let fixture = try await Fixture("signup = \"closed\"\n")
    let refused = try await register(fixture, "anna")
    #expect(refused.status == 403)
    #expect((refused.object["error"] as? String)?.contains("operator") == true)
    #expect(refused.object["code"] as? String == "signup")
  }

  @Test func anInvitationMakesAsManyAccountsAsItSays() async throws {
    let fixture = try await Fixture("signup = \"invite\"\n")
    let store = fixture.service.service.store
    let end = fixture.clock.now + .seconds(3600)
    try await store.addInvitation(InvitationHash(ofToken: "come in".utf8), uses: 2, expires: end)
    #expect(try await register(fixture, "anna").object["code"] as? String == "invitation")
    let refused = try await register(fixture, "anna", invitation: "let me in")
    #expect(refused.status == 403)
    #expect((refused.object["error"] as? String)?.contains("invitation") == true)
    #expect(refused.object["code"] as? String == "invitation")
    #expect(try await register(fixture, "anna", invitation: "come in").status == 200)
    // A name that is taken uses nothing up.
    let taken = try await register(fixture, "anna", invitation: "come in")
    #expect(taken.status == 403)
    #expect(taken.object["code"] == nil)
    // Without an invitation, nobody learns whether a name is taken.
    let again = try await register(fixture, "anna", invitation: "let me in")
    #expect(again.object["error"] as? String == refused.object["error"] as? String)
    #expect(try await register(fixture, "bert", invitation: "come in").status == 200)
    #expect(try await register(fixture, "cleo", invitation: "come in").status == 403)
    try await store.addInvitation(InvitationHash(ofToken: "later".utf8), uses: 1, expires: end)
    fixture.clock.advance(by: .seconds(3601))
    #expect(try await register(fixture, "cleo", invitation: "later").status == 403)
  }

  @Test(arguments: ["open", "invite"])
  func namesThatAreTakenAreToldAsOftenAsAccountsAreMade(_ signup: String) async throws {
    let fixture = try await Fixture(
      "signup = \"\(signup)\"\nregistrations_burst = 5\nregistrations_per_minute = 5\n")
    let store = fixture.service.service.store
    try await store.addInvitation(
      InvitationHash(ofToken: "come in".utf8), uses: 9, expires: fixture.clock.now + .seconds(3600))
    #expect(try await register(fixture, "anna", invitation: "come in").status == 200)
    for _ in 0..<4 {
      #expect(try await register(fixture, "anna", invitation: "come in").status == 403)
    }
    let refused = try await register(fixture, "anna", invitation: "come in")
    #expect(refused.status == 429)
    #expect(refused.fields.first(.retryAfter) != nil)
    let fields = ["Username": "bert", "Password": "a password", "DeviceID": Fixture.device("bert")]
    let elsewhere = try await fixture.post(
      "/register", fields.merging(["Invitation": "come in"]) { $1 }, from: "192.0.2.1")
    #expect(elsewhere.status == 200)
  }

  @Test func aGuessOfAnInvitationCountsAsAnAccount() async throws {
    let fixture = try await Fixture(
      "signup = \"invite\"\nregistrations_burst = 3\nregistrations_per_minute = 3\n")
    for number in 0..<3 {
      #expect(
        try await register(fixture, "anna", invitation: "let me in \(number)").status == 403)
    }
    #expect(try await register(fixture, "anna", invitation: "let me in").status == 429)
  }

  @Test func namesCannotBeGuessedWithoutEnd() async throws {
    let fixture = try await Fixture("messages_per_minute = 10\n")
    let token = try await fixture.register("anna")
    for (path, fields) in [
      ("/add", ["AddUser": "x"]), ("/block", ["User": "x"]), ("/tokens", ["Name": "x", "To": "x"]),
    ] {
      for _ in 0..<60 { #expect(try await fixture.post(path, fields, token: token).status == 403) }
      #expect(try await fixture.post(path, fields, token: token).status == 429)
      fixture.clock.advance(by: .seconds(70))
    }
  }

  @Test func aNewPasswordEndsEveryOtherSession() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna")
    let other = try await fixture.login("anna", device: "stream:anna-1234")
    let made = try await fixture.post("/tokens", ["Name": "ci"], token: other)
    let publisher = try #require(made.object["Token"] as? String)
    func change(_ old: String) async throws -> Int {
      try await fixture.post(
        "/password", ["Password": old, "NewPassword": "new one"], token: token
      ).status
    }
    #expect(try await change("wrong") == 403)
    #expect(try await change("pw") == 200)
    #expect(try await fixture.post("/contacts", [:], token: token).status == 200)
    #expect(try await fixture.post("/contacts", [:], token: other).status == 403)
    #expect(try await fixture.post("/publish?token=\(publisher)", ["message": "x"]).status == 403)
    // No device is pushed to that isn't listed.
    #expect(try await fixture.post("/sessions", [:], token: token).array.count == 1)
    let devices: Int? = try await fixture.store.read { snapshot in
      try snapshot.one("SELECT count(*) FROM msgr_devices") { try $0[0] }
    }
    #expect(devices == 1)
    for (password, status) in [("pw", 403), ("new one", 200)] {
      let response = try await fixture.post(
        "/contacts", ["Username": "anna", "Password": password])
      #expect(response.status == status)
    }
  }

  @Test func sessionsAreListedAndEnded() async throws {
    let fixture = try await Fixture()
    let phone = try await fixture.register("anna")
    fixture.clock.advance(by: .seconds(60))
    let page = try await fixture.login("anna", device: "stream:anna-1234", as: "Laptop")
    try await fixture.register("bert")
    func sessions(_ fields: [String: String] = [:]) async throws -> [[String: Any]] {
      let response = try await fixture.post("/sessions", fields, token: page)
      #expect(response.status == 200)
      return response.array.compactMap { $0 as? [String: Any] }
    }
    let found = try await sessions()
    #expect(found.map { $0["Kind"] as? String } == ["stream", "apns"])
    #expect(found.map { $0["Device"] as? String } == ["Laptop", ""])
    #expect(found.map { $0["Current"] as? Bool } == [true, false])
    let name = try #require(found[1]["Session"] as? String)
    // Not those of others.
    let foreign = try await fixture.post(
      "/sessions", ["Username": "bert", "Password": "pw", "End": name])
    #expect(foreign.status == 403)
    #expect(try await sessions(["End": name]).count == 1)
    #expect(try await fixture.post("/contacts", [:], token: phone).status == 403)
    #expect(try await fixture.post("/sessions", ["End": name], token: page).status == 403)
    // One's own as well.
    let own = try #require(found[0]["Session"] as? String)
    #expect(try await sessions(["End": own]).isEmpty)
    #expect(try await fixture.post("/contacts", [:], token: page).status == 403)
  }

  @Test func aDeviceWhoseTokenHasEndedIsListed() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    fixture.clock.advance(by: .seconds(91 * 86_400))
    let page = try await fixture.login("anna", device: "stream:anna-1234")
    let sessions = try await fixture.post("/sessions", [:], token: page).array
    let phone = try #require(sessions.last as? [String: Any])
    #expect(phone["Kind"] as? String == "apns")
    let name = try #require(phone["Session"] as? String)
    #expect(try await fixture.post("/sessions", ["End": name], token: page).array.count == 1)
  }

  @Test func theExportHasEverythingOfTheAccount() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna", device: "stream:anna-1234")
    try await fixture.register("bert")
    for number in 0..<120 { try await fixture.send("\(number)", from: "bert", to: "anna") }
    try await fixture.send("back", from: "anna", to: "bert")
    _ = try await fixture.post("/tokens", ["Name": "ci", "To": ["bert"]], token: token)
    let export = try await fixture.post("/export", [:], token: token).object
    #expect(export["Username"] as? String == "anna")
    let messages = try #require(export["Messages"] as? [[String: Any]])
    #expect(
      messages.compactMap { $0["Message"] as? String } == (0..<120).map { "\($0)" } + ["back"])
    #expect(messages.last?["UserTo"] as? String == "bert")
    #expect((export["Sessions"] as? [Any])?.count == 2)
    let devices = export["Devices"] as? [[String: String]]
    #expect(devices?.map { $0["DeviceID"] } == ["stream:anna-1234"])
    let tokens = try #require(export["Tokens"] as? [[String: Any]])
    #expect(tokens.map { $0["To"] as? [String] } == [["bert"]])
    for _ in 0..<2 { _ = try await fixture.post("/export", [:], token: token) }
    #expect(try await fixture.post("/export", [:], token: token).status == 429)
  }

  @Test func friendsComeInFourLists() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert", "cleo", "dora", "emil"] { try await fixture.register(name) }
    for (one, other) in [
      ("anna", "bert"), ("bert", "anna"), ("anna", "cleo"), ("dora", "anna"), ("emil", "anna"),
    ] {
      _ = try await fixture.post("/add", ["Username": one, "Password": "pw", "AddUser": other])
    }
    _ = try await fixture.post("/block", ["Username": "anna", "Password": "pw", "User": "emil"])
    let lists = try await fixture.post("/friends", ["Username": "anna", "Password": "pw"]).object
    let expected = [
      "Friends": ["bert"], "Incoming": ["dora"], "Outgoing": ["cleo"], "Blocked": ["emil"],
    ]
    #expect(lists as? [String: [String]] == expected)
  }
}
