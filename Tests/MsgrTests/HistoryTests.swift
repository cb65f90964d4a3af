internal import Foundation
internal import HTTPProtocol
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr

/// Own messages, retries, history and what was read.
@Suite(.ownThreads, .serialized) struct HistoryTests {
  private func history(
    _ fixture: Fixture, _ fields: [String: Any], token: String
  ) async throws -> [[String: Any]] {
    let response = try await fixture.post("/history", fields, token: token)
    #expect(response.status == 200)
    return response.array.compactMap { $0 as? [String: Any] }
  }

  @Test func onlyUsersOfStreamingDevicesKeepCopies() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert"] { try await fixture.register(name) }
    for name in ["anna", "bert"] {
      #expect(try await fixture.send("no", from: "anna", to: name).object["Own"] == nil)
    }
    let token = try await fixture.login("anna", device: "stream:anna-1234")
    let sent = try await fixture.send("yes", from: "anna", to: "bert")
    let own = try #require(sent.object["Own"] as? String)
    let messages = try await history(fixture, ["With": "bert"], token: token)
    #expect(messages.map { $0["Message"] as? String } == ["yes"])
    #expect(messages.first?["Id"] as? String == own)
    // Neither in the inbox nor counted.
    #expect(try await fixture.texts("anna") == ["no"])
    // A message to oneself is its own copy.
    let note = try await fixture.send("note", from: "anna", to: "anna").object
    #expect(note["Own"] as? String == note["Id"] as? String)
  }

  @Test func historyGoesBackPageByPage() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna", device: "stream:anna-1234")
    for name in ["bert", "cleo"] { try await fixture.register(name) }
    for number in 0..<10 {
      try await fixture.send("a\(number)", from: "anna", to: "bert")
      try await fixture.send("b\(number)", from: "bert", to: "anna")
      try await fixture.send("c\(number)", from: "cleo", to: "anna")
    }
    var texts: [String] = []
    var before: String?
    while true {
      var fields: [String: Any] = ["With": "bert", "Limit": 7]
      fields["Before"] = before
      let page = try await history(fixture, fields, token: token)
      texts += page.compactMap { $0["Message"] as? String }
      before = page.last?["Id"] as? String
      if page.count < 7 { break }
    }
    #expect(texts == (0..<10).reversed().flatMap { ["b\($0)", "a\($0)"] })
    for limit in [0, 101, -1, "x"] as [Any] {
      let refused = try await fixture.post(
        "/history", ["With": "bert", "Limit": limit], token: token)
      #expect(refused.status == 400)
      #expect(refused.field == "Limit")
    }
  }

  @Test func aLoginSaysWhatWasReadBefore() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    for name in ["bert", "cleo"] { try await fixture.register(name) }
    func seen() async throws -> String {
      let login = try await fixture.post(
        "/login", ["Username": "anna", "Password": "pw", "DeviceID": "stream:anna-1234"])
      return try #require(login.object["Seen"] as? String)
    }
    func send(_ text: String, from name: String) async throws -> String {
      try #require(try await fixture.send(text, from: name, to: "anna").object["Id"] as? String)
    }
    func read(from name: String, upTo id: String) async throws {
      let fields = ["Username": "anna", "Password": "pw", "With": name, "Id": id]
      #expect(try await fixture.post("/read", fields).status == 200)
    }
    #expect(try await seen() == "0000000000000000")
    let first = try await send("one", from: "bert")
    #expect(try await seen() < first)
    _ = try await fixture.inbox("anna", since: first)
    #expect(try await seen() == first)
    // What is read counts, but not beyond something that isn't.
    let second = try await send("two", from: "bert")
    let third = try await send("three", from: "cleo")
    try await read(from: "cleo", upTo: third)
    let unread = try await seen()
    #expect(unread >= first && unread < second)
    try await read(from: "bert", upTo: second)
    #expect(try await seen() == third)
    // Phones are told nothing new.
    let phone = try await fixture.post(
      "/login", ["Username": "anna", "Password": "pw", "DeviceID": Fixture.device("anna")])
    #expect(Array(phone.object.keys) == ["Token"])
  }

  @Test func asManyCopiesAreKeptAsAnInboxHolds() async throws {
    let fixture = try await Fixture("inbox_messages = 3\n")
    let token = try await fixture.register("anna", device: "stream:anna-1234")
    try await fixture.register("bert")
    for number in 0..<5 { try await fixture.send("\(number)", from: "anna", to: "bert") }
    let messages = try await history(fixture, ["With": "bert"], token: token)
    #expect(messages.map { $0["Message"] as? String } == ["4", "3", "2"])
    fixture.clock.advance(by: .seconds(8 * 86_400))
    #expect(try await history(fixture, ["With": "bert"], token: token).isEmpty)
    try await fixture.service.service.tidy()
    let left: Int? = try await fixture.store.read { snapshot in
      try snapshot.one(
        "SELECT CAST(count(*) + (SELECT sum(sent) FROM msgr_users) AS BIGINT) FROM msgr_sent"
      ) {
        try $0[0]
      }
    }
    #expect(left == 0)
  }

  @Test func aRetryIsTheSameMessage() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna", device: "stream:anna-1234")
    for name in ["bert", "cleo"] { try await fixture.register(name) }
    let first = try await fixture.send("hello", from: "anna", to: "bert", as: "one_1-A")
    let again = try await fixture.send("hello", from: "anna", to: "bert", as: "one_1-A")
    #expect(first.bytes == again.bytes)
    #expect(try await fixture.texts("bert") == ["hello"])
    #expect(try await history(fixture, ["With": "bert"], token: token).count == 1)
    #expect(try await fixture.send("other", from: "anna", to: "bert", as: "one_1-A").status == 409)
    #expect(try await fixture.send("hello", from: "anna", to: "cleo", as: "one_1-A").status == 409)
    // Another sender's names are that sender's.
    #expect(try await fixture.send("hello", from: "cleo", to: "bert", as: "one_1-A").status == 200)
    for wrong in ["", "a b", String(repeating: "x", count: 65)] {
      let refused = try await fixture.send("hello", from: "anna", to: "bert", as: wrong)
      #expect(refused.field == "ClientId")
    }
    fixture.clock.advance(by: .seconds(86_401))
    try await fixture.service.service.tidy()
    #expect(try await fixture.send("hello", from: "anna", to: "bert", as: "one_1-A").status == 200)
    #expect(try await fixture.texts("bert") == ["hello", "hello", "hello"])
  }

  @Test func theLatestNamesOfASenderAreKnown() async throws {
    let fixture = try await Fixture()
    for name in ["anna", "bert"] { try await fixture.register(name) }
    for name in ["first", "second"] {
      try await fixture.send(name, from: "anna", to: "bert", as: name)
    }
    // As if the sender had named that many less one since the second.
    try await fixture.store.write { transaction in
      try transaction.execute(
        "UPDATE msgr_users SET named = ? WHERE username = 'anna'", MsgrStore.Limits().clientIDs)
    }
    try await fixture.send("third", from: "anna", to: "bert", as: "third")
    for name in ["second", "first"] {
      try await fixture.send(name, from: "anna", to: "bert", as: name)
    }
    #expect(try await fixture.texts("bert") == ["first", "second", "third", "first"])
  }

  @Test func aBlockedSenderSeesNoDifference() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna", device: "stream:anna-1234")
    try await fixture.register("bert")
    _ = try await fixture.post("/block", ["Username": "bert", "Password": "pw", "User": "anna"])
    let sent = try await fixture.send("hello", from: "anna", to: "bert", as: "x")
    #expect(sent.object["Own"] is String)
    #expect(try await fixture.send("hello", from: "anna", to: "bert", as: "x").bytes == sent.bytes)
    #expect(try await history(fixture, ["With": "bert"], token: token).count == 1)
    #expect(try await fixture.texts("bert").isEmpty)
  }

  @Test func whatOneDeviceSendsArrivesOnTheOthers() async throws {
    try await withRunning { running in
      let fixture = running.fixture
      let one = try await fixture.register("anna", device: "stream:anna-0001")
      let two = try await fixture.login("anna", device: "stream:anna-0002")
      try await fixture.register("bert")
      let first = try running.stream(one)
      let second = try running.stream(two)
      try first.send(#"{"UserTo":"bert","Message":"hello","ClientId":"c1"}"#)
      let reply = try await first.nextObject()
      let copy = try await second.nextObject()
      #expect(copy["Id"] as? String == reply["Own"] as? String)
      #expect(copy["UserFrom"] as? String == "anna")
      #expect(copy["UserTo"] as? String == "bert")
      #expect(copy["ClientId"] as? String == "c1")
      // The sending device goes on with what others send.
      try await fixture.send("back", from: "bert", to: "anna")
      #expect(try await first.nextObject()["Message"] as? String == "back")
      let back = try await second.nextObject()
      #expect((back["Id"] as? String ?? "") > (copy["Id"] as? String ?? ""))
      // What was read on one is told to the other.
      let id = try #require(back["Id"] as? String)
      _ = try await fixture.post("/read", ["With": "bert", "Id": id], token: one)
      let notice = try await second.nextObject()
      #expect(notice["Read"] as? [String: String] == ["With": "bert", "Id": id])
    }
  }

  @Test func whatWasReadIsNotCounted() async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna")
    for name in ["bert", "cleo"] { try await fixture.register(name) }
    func unread() async throws -> Int? {
      try await fixture.store.read { snapshot in
        try snapshot.one("SELECT unread FROM msgr_users WHERE username = 'anna'") { try $0[0] }
      }
    }
    var ids: [String] = []
    for number in 0..<3 {
      ids.append(try #require(try await fixture.send("\(number)", from: "bert", to: "anna").id))
      try await fixture.send("\(number)", from: "cleo", to: "anna")
    }
    for _ in 0..<2 {
      _ = try await fixture.post("/read", ["With": "bert", "Id": ids[1]], token: token)
      #expect(try await unread() == 4)
    }
    // What is seen after that counts down by what was not read.
    _ = try await fixture.inbox("anna", since: ids[1])
    #expect(try await unread() == 3)
    _ = try await fixture.inbox("anna", since: ids[2])
    #expect(try await unread() == 1)
    fixture.clock.advance(by: .seconds(8 * 86_400))
    try await fixture.service.service.tidy()
    #expect(try await unread() == 0)
  }
}
