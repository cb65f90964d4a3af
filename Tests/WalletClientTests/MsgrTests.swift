internal import Configuration
internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import HTTPServer
internal import Msgr
internal import Observability
internal import Routing
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import WalletClient

/// Runs the service of this project over sockets for the time of a closure, with passwords that cost next to nothing,
/// and drains it.
private func withMsgr(
  _ toml: String = "", _ body: (MsgrServer, String) async throws -> Void
) async throws {
  let data = TemporaryFolder()
  let text =
    "[msgr]\npassword_memory = \"8KiB\"\npassword_passes = 1\nregistrations_per_minute = 1000\n"
    + "minimum_password = 2\n\(toml)\n"
  let document = try ConfigurationDocument(
    parsing: Array(text.utf8), file: "\(data.path)/test.toml")
  let store = try await Store.open(
    .file("\(data.path)/awd.sqlite3"), migrations: MsgrService.migrations)
  let log = Log(level: .error)
  let service = try await MsgrService(
    ServiceContext(
      store: store, log: log, dataFolder: data.path),
    MsgrConfiguration(ConfigurationReader(document).section("msgr")))
  var router = Router(service: MsgrService.name)
  service.register(on: &router)
  try await withServer(try RouteTable([router], log: log)) { url in
    try await body(try MsgrServer(url), url)
  }
}

private func register(_ name: String, on server: MsgrServer) async throws -> MsgrSession {
  try await server.register(name, password: "pw", device: "stream:\(name)-0001")
}

/// A responder that gives every request the same response.
private struct FixedResponder: Responder {
  let response: Response

  func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
    .respond(bodyLimit: 64 << 10) { _ in response }
  }
}

/// What streams bring.
@Suite struct MsgrStreamTextTests {
  /// A server may have more to notify of than this client knows.
  @Test(arguments: [
    #"{"Deleted":{"Topic":"alerts","Sequence":"job"}}"#, #"{"Cleared":{"Topic":"alerts"}}"#,
    #"{"Later":1}"#,
  ]) func noticesThatAreUnknownArePassedOver(text: String) {
    guard case .otherNotice? = MsgrStreamText(Array(text.utf8)) else {
      Issue.record("not a notice")
      return
    }
  }

  @Test(arguments: ["", "[]", "1", "{", #"{"Read":1}"#])
  func otherTextsAreRefused(text: String) {
    if let text = MsgrStreamText(Array(text.utf8)) { Issue.record("read as \(text)") }
  }
}

/// The client against the real service, over sockets.
@Suite struct MsgrClientTests {
  @Test func readsHistoryAndWhatOtherDevicesSend() async throws {
    try await withMsgr { server, _ in
      let anna = try await register("anna", on: server)
      let other = try await server.login(
        "anna", password: "pw", device: "stream:anna-0002", named: "Laptop")
      let bert = try await register("bert", on: server)
      let readings = Lock<[MsgrReading]>([])
      let stream = try await other.stream { reading in readings.withLock { $0.append(reading) } }
      let id = try await anna.send("hello", to: "bert", as: "c1")
      #expect(try await anna.send("hello", to: "bert", as: "c1") == id)
      await #expect(throws: MsgrError.conflict) {
        try await anna.send("other", to: "bert", as: "c1")
      }
      let copy = try #require(try await stream.next())
      #expect(copy.recipient == "bert" && copy.clientID == "c1" && copy.text == "hello")
      try await bert.send("back", to: "anna")
      let back = try #require(try await stream.next())
      #expect(back.recipient == nil)
      try await anna.markRead(from: "bert", upTo: back.id)
      // A notice of what was read is no message.
      try await bert.send("again", to: "anna")
      #expect(try await stream.next()?.text == "again")
      #expect(readings.withLock { $0 } == [MsgrReading(name: "bert", last: back.id)])
      let history = try await anna.history(with: "bert", limit: 2)
      #expect(history.map(\.text) == ["again", "back"])
      let rest = try await anna.history(with: "bert", before: history[1].id)
      #expect(rest.map(\.text) == ["hello"])
    }
  }

  @Test func looksAfterTheAccount() async throws {
    try await withMsgr { server, _ in
      let anna = try await register("anna", on: server)
      let other = try await server.login(
        "anna", password: "pw", device: "stream:anna-0002", named: "Laptop")
      let bert = try await register("bert", on: server)
      try await bert.add("anna")
      #expect(try await anna.friends().incoming == ["bert"])
      let logins = try await anna.sessions()
      #expect(Set(logins.map(\.device)) == ["", "Laptop"])
      try await anna.end(try #require(logins.first { $0.device == "Laptop" }))
      await #expect(throws: MsgrError.forbidden) { try await other.contacts() }
      try await anna.changePassword(from: "pw", to: "new")
      _ = try await server.login("anna", password: "new", device: "stream:anna-0003")
      #expect(try await anna.export().starts(with: Array("{".utf8)))
    }
  }

  @Test func publishesAndSubscribes() async throws {
    try await withMsgr { server, _ in
      let anna = try await register("anna", on: server)
      let token = try await anna.makePublisher("ci")
      try await server.publish(
        "done", title: "Build 7", priority: 3, link: "https://ci.example/7", token: token)
      let message = try #require(try await anna.inbox().first)
      #expect(message.sender == "anna/ci" && message.text == "done")
      #expect(message.title == "Build 7" && message.priority == 3)
      #expect(message.link == "https://ci.example/7")
      let key = try await server.pushKey()
      try await anna.subscribe(
        MsgrSubscription(
          endpoint: "https://push.example/1", p256dh: key, auth: "AAAAAAAAAAAAAAAAAAAAAA"))
      #expect(try await anna.sessions().map(\.kind) == ["publish", "webpush"])
      try await anna.unsubscribe()
      #expect(try await anna.sessions().map(\.kind) == ["publish", "stream"])
    }
  }

  @Test func becomesFriendsAndWrites() async throws {
    try await withMsgr { server, _ in
      let anna = try await register("anna", on: server)
      let bert = try await register("bert", on: server)
      #expect(try await anna.add("bert") == .requested)
      let request = try #require(try await bert.inbox().first)
      #expect(request.sender == "anna" && request.isAddRequest)
      #expect(try await bert.add(request.sender) == .friends)
      #expect(try await anna.contacts() == ["bert"])

      let text = "Grüße,\n\t\"bert\" \u{1f980}"
      let before = Date.now
      let id = try await anna.send(text, to: "bert")
      let messages = try await bert.inbox(since: request.id)
      #expect(messages.map(\.id) == [id] && messages.map(\.text) == [text])
      #expect(!messages[0].isAddRequest && id > request.id)
      #expect(abs(messages[0].time.timeIntervalSince(before)) < 60)

      try await anna.unfriend("bert")
      #expect(try await bert.contacts() == [])
      try await bert.block("anna")
      try await anna.send("not heard", to: "bert")
      #expect(try await bert.inbox(since: id).isEmpty)
      try await bert.unblock("anna")
      try await anna.send("heard", to: "bert")
      #expect(try await bert.inbox(since: id).map(\.text) == ["heard"])
    }
  }

  @Test func readsTheInboxPageByPage() async throws {
    try await withMsgr { server, _ in
      let anna = try await register("anna", on: server)
      let bert = try await register("bert", on: server)
      for number in 0..<205 { try await anna.send("\(number)", to: "bert") }
      #expect(try await bert.inboxPage().count == MsgrSession.pageSize)
      let all = try await bert.inbox()
      #expect(all.map(\.text) == (0..<205).map(String.init))
      #expect(try await bert.inbox(since: all[199].id).count == 5)
      #expect(try await bert.inbox(since: all.last?.id).isEmpty)
    }
  }

  @Test func tokensAndPasswords() async throws {
    try await withMsgr { server, _ in
      let anna = try await register("anna", on: server)
      let token = try #require(anna.token)
      let byPassword = server.session(name: "anna", password: "pw")
      #expect(byPassword.token == nil)
      #expect(try await server.session(token: token).contacts() == [])
      #expect(try await byPassword.contacts() == [])
      #expect(try await byPassword.send("to myself", to: "anna").text.utf8.count == 16)

      let again = try await server.login("anna", password: "pw", device: "stream:anna-0001")
      await #expect(throws: MsgrError.forbidden) { try await anna.contacts() }
      try await again.logout()
      await #expect(throws: MsgrError.forbidden) { try await again.contacts() }
      await #expect(throws: MsgrError.forbidden) { try await byPassword.logout() }

      await #expect(throws: MsgrError.forbidden) { try await byPassword.delete(password: "no") }
      try await byPassword.delete(password: "pw")
      await #expect(throws: MsgrError.forbidden) { try await byPassword.contacts() }
      _ = try await register("anna", on: server)
    }
  }

  @Test func refusalsAreTold() async throws {
    try await withMsgr("messages_per_minute = 2\nfailed_logins_name = 1") { server, _ in
      let anna = try await register("anna", on: server)
      await #expect(throws: MsgrError.forbidden) {
        try await server.register("anna", password: "pw", device: "stream:anna-0002")
      }
      await #expect(throws: MsgrError.forbidden) { try await anna.send("hi", to: "nobody") }
      await #expect(throws: MsgrError.messageTooLong) {
        try await anna.send(String(repeating: "x", count: 5000), to: "anna")
      }
      let error1 = await #expect(throws: MsgrError.self) {
        try await anna.send("", to: "anna")
      }
      guard case .invalid("Message"?, _) = error1 else {
        Issue.record("\(String(describing: error1))")
        return
      }
      for _ in 0..<2 { try await anna.send("hi", to: "anna") }
      let error2 = await #expect(throws: MsgrError.self) {
        try await anna.send("hi", to: "anna")
      }
      guard case .tooOften(let wait?) = error2 else {
        Issue.record("\(String(describing: error2))")
        return
      }
      #expect(wait > .zero && wait <= .seconds(70))
      let guess = server.session(name: "anna", password: "guess")
      await #expect(throws: MsgrError.forbidden) { try await guess.contacts() }
      let error3 = await #expect(throws: MsgrError.self) {
        try await guess.contacts()
      }
      guard case .tooOften = error3 else {
        Issue.record("\(String(describing: error3))")
        return
      }
      #expect(!"\(anna)\(guess)".contains("guess"))
    }
  }

  /// Servers that speak another protocol, or lie.
  @Test(
    arguments: [
      (Response(.ok, body: .array(Array("{}".utf8))), MsgrError.unexpected(status: 200)),
      (Response(.ok, body: .array(Array(#"{"Id":"xyz"}"#.utf8))), .unexpected(status: 200)),
      (Response(.notFound), .unexpected(status: 404)),
      (Response(.badRequest), .invalid(field: nil, message: "")),
      (Response(.serviceUnavailable), .unavailable(retryAfter: nil)),
    ] as [(Response, MsgrError)])
  func otherResponses(_ response: Response, _ error: MsgrError) async throws {
    try await withServer(FixedResponder(response: response)) { url in
      let session = try MsgrServer(url).session(token: "t")
      await #expect(throws: error) { try await session.send("hi", to: "bert") }
    }
  }

  @Test func anInboxThatDoesNotEndIsNotReadForEver() async throws {
    let message =
      #"{"Id":"0000000000000001","UserFrom":"a","Message":"m","Time":"2026-01-01T00:00:00.000Z"}"#
    let page = "[\(Array(repeating: message, count: 100).joined(separator: ","))]"
    let responder = FixedResponder(response: Response(.ok, body: .array(Array(page.utf8))))
    try await withServer(responder) { url in
      let session = try MsgrServer(url).session(token: "t")
      await #expect(throws: MsgrError.unexpected(status: 200)) { try await session.inbox() }
    }
  }

  @Test func nobodyThere() async throws {
    let session = try MsgrServer("http://127.0.0.1:1").session(token: "t")
    let error4 = await #expect(throws: MsgrError.self) {
      try await session.contacts()
    }
    guard case .noResponse(let cause) = error4 else {
      Issue.record("\(String(describing: error4))")
      return
    }
    #expect(cause.code == .notConnected)
    let error5 = await #expect(throws: MsgrError.self) {
      _ = try await session.stream()
    }
    guard case .disconnected = error5 else {
      Issue.record("\(String(describing: error5))")
      return
    }
  }
}

@Suite struct MsgrStreamTests {
  @Test func messagesComeAndGo() async throws {
    try await withMsgr { server, _ in
      let anna = try await register("anna", on: server)
      let bert = try await register("bert", on: server)
      let missed = try await anna.send("missed", to: "bert")
      let stream = try await bert.stream(since: MsgrMessageID("0000000000000000"))
      #expect(try await stream.next()?.id == missed)

      let annas = try await anna.stream()
      let sent = try await annas.send("over the stream", to: "bert")
      let came = try #require(try await stream.next())
      #expect(came.id == sent && came.sender == "anna" && came.text == "over the stream")
      await #expect(throws: MsgrError.forbidden) { try await annas.send("hi", to: "nobody") }
      await #expect(throws: MsgrError.messageTooLong) {
        try await annas.send(String(repeating: "x", count: 5000), to: "bert")
      }
      // More are sent at once than may wait to be read, and each gets its own reply.
      let texts = try await withThrowingTaskGroup(of: (MsgrMessageID, String).self) { group in
        for number in 0..<150 {
          group.addTask { (try await annas.send("\(number)", to: "bert"), "\(number)") }
        }
        return try await group.reduce(into: [:]) { texts, sent in texts[sent.0] = sent.1 }
      }
      var received: [MsgrMessage] = []
      while received.count < 150, let message = try await stream.next() { received.append(message) }
      let ids = received.map(\.id)
      #expect(ids.count == texts.count && ids == ids.sorted())
      #expect(received.allSatisfy { texts[$0.id] == $0.text })

      annas.close()
      #expect(try await annas.next() == nil)
      let error6 = await #expect(throws: MsgrError.self) {
        try await annas.send("late", to: "bert")
      }
      guard case .disconnected = error6 else {
        Issue.record("\(String(describing: error6))")
        return
      }
    }
  }

  @Test func endsWithTheToken() async throws {
    try await withMsgr { server, _ in
      let anna = try await register("anna", on: server)
      let stream = try await anna.stream()
      try await anna.logout()
      await #expect(throws: MsgrError.forbidden) { try await stream.next() }
      await #expect(throws: MsgrError.forbidden) { _ = try await anna.stream() }
      let byPassword = server.session(name: "anna", password: "pw")
      await #expect(throws: MsgrError.forbidden) { _ = try await byPassword.stream() }
    }
  }
}
