internal import Foundation
internal import Glibc
internal import HTTPProtocol
internal import Observability
internal import TestSupport
internal import Testing
internal import Platform

@testable import Msgr
@testable import Push

/// Strangers who guess passwords and make accounts, and what the operator and others see of them.
@Suite(.ownThreads) struct RefusalTests {
  /// Runs a test with a log that goes to a file; a closure returns what was written so far.
  private func withLog(
    _ test: (_ log: Log, _ written: () throws -> String) async throws -> Void
  ) async throws {
    let folder = TemporaryFolder()
    let path = "\(folder.path)/log"
    let file = open(path, O_WRONLY | O_CREAT, 0o600)
    defer { close(file) }
    let log = Log(descriptor: file)
    try await test(log) {
      log.flush()
      return try String(contentsOfFile: path, encoding: .utf8)
    }
  }

  private func login(
    _ fixture: Fixture, _ name: String, _ password: String, from peer: String
  ) async throws -> Int {
    try await fixture.post(
      "/contacts", ["Username": name, "Password": password], from: peer
    ).status
  }

  private func register(
    _ fixture: Fixture, _ name: String, from peer: String
  ) async throws -> TestResponse {
    try await fixture.post(
      "/register", ["Username": name, "Password": "pw", "DeviceID": Fixture.device(name)],
      from: peer)
  }

  /// All come from one address, as behind a proxy that isn't trusted.
  @Test func guessesDontLockOutWhoeverIsFamiliar() async throws {
    let fixture = try await Fixture("failed_logins_address = 20\n")
    try await fixture.register("anna")
    try await fixture.register("bert")
    for attempt in 0..<30 {
      let status = try await login(fixture, "nobody \(attempt)", "x", from: "127.0.0.1")
      #expect(status == (attempt < 20 ? 403 : 429))
    }
    // The password was shown there before, and isn't remembered any more.
    fixture.clock.advance(by: .seconds(601))
    for attempt in 0..<20 {
      _ = try await login(fixture, "guess \(attempt)", "x", from: "127.0.0.1")
    }
    #expect(try await login(fixture, "guess", "x", from: "127.0.0.1") == 429)
    #expect(try await login(fixture, "anna", "pw", from: "127.0.0.1") == 200)
    // Guesses at a familiar name concern that name alone.
    for attempt in 0..<10 {
      #expect(try await login(fixture, "bert", "x \(attempt)", from: "127.0.0.1") == 403)
    }
    #expect(try await login(fixture, "bert", "pw", from: "127.0.0.1") == 429)
    #expect(try await login(fixture, "anna", "pw", from: "127.0.0.1") == 200)
  }

  @Test func guessesAtAnAccountFromManyAddressesAreLimited() async throws {
    let fixture = try await Fixture("failed_logins_account = 30\n")
    try await fixture.register("anna")
    for attempt in 0..<30 {
      #expect(try await login(fixture, "anna", "x", from: "192.0.\(attempt).1") == 403)
    }
    // A new place then has few guesses, and a right password is good from there.
    for attempt in 0..<2 {
      #expect(try await login(fixture, "anna", "x \(attempt)", from: "198.51.100.1") == 403)
    }
    #expect(try await login(fixture, "anna", "pw", from: "198.51.100.1") == 429)
    #expect(try await login(fixture, "anna", "pw", from: "203.0.113.1") == 200)
    #expect(try await login(fixture, "anna", "pw", from: "127.0.0.1") == 200)
  }

  @Test func guessesCountBySite() async throws {
    let fixture = try await Fixture("failed_logins_address = 20\n")
    try await fixture.register("anna")
    // An address of a site has few of them where others have used up the site's, and the site has an end.
    for attempt in 0..<120 {
      let address = "2001:db8:1:\(attempt)::1"
      #expect(try await login(fixture, "nobody \(attempt)", "x", from: address) == 403)
    }
    #expect(try await login(fixture, "anna", "pw", from: "2001:db8:1:ffff::1") == 429)
    #expect(try await login(fixture, "anna", "pw", from: "2001:db8:2::1") == 200)
  }

  @Test func aLinkedDeviceLogsInWhateverOthersGuess() async throws {
    let fixture = try await Fixture("failed_logins_address = 20\n")
    try await fixture.register("anna")
    for attempt in 0..<20 {
      #expect(try await login(fixture, "nobody \(attempt)", "x", from: "192.0.2.1") == 403)
    }
    func logIn(on device: String) async throws -> Int {
      let fields = ["Username": "anna", "Password": "pw", "DeviceID": device]
      return try await fixture.post("/login", fields, from: "192.0.2.1").status
    }
    #expect(try await logIn(on: Fixture.device("another")) == 429)
    #expect(try await logIn(on: Fixture.device("anna")) == 200)
  }

  @Test func registrationsAreLimitedByAddress() async throws {
    let fixture = try await Fixture(
      "registrations_burst = 3\nregistrations_per_minute = 3\nregistrations_per_day = 5\n")
    var number = 0
    func register(from peer: String) async throws -> TestResponse {
      number += 1
      return try await self.register(fixture, "user \(number)", from: peer)
    }
    for _ in 0..<3 { #expect(try await register(from: "2001:db8::\(number)").status == 200) }
    let refused = try await register(from: "2001:db8::ffff")
    #expect(refused.status == 429)
    #expect(refused.fields.first(.retryAfter) == "20")
    #expect(try await register(from: "2001:db8:0:1::").status == 200)
    fixture.clock.advance(by: .seconds(68))
    for _ in 0..<2 { #expect(try await register(from: "2001:db8::1").status == 200) }
    // A day has eight steps.
    fixture.clock.advance(by: .seconds(86_400))
    #expect(try await register(from: "2001:db8::1").status == 429)
    fixture.clock.advance(by: .seconds(86_400 / 8))
    #expect(try await register(from: "2001:db8::1").status == 200)
    // A name that is taken counts as an account, and behind the limit nobody learns whether it is.
    for _ in 0..<2 {
      #expect(try await self.register(fixture, "user 1", from: "192.0.2.1").status == 403)
    }
    #expect(try await register(from: "192.0.2.1").status == 200)
    #expect(try await self.register(fixture, "user 1", from: "192.0.2.1").status == 429)
  }

  @Test func refusalsAreLoggedAndCounted() async throws {
    try await withLog { log, written in
      let metrics = Metrics()
      let fixture = try await Fixture(
        "registrations_burst = 3\nregistrations_per_minute = 3\n", log: log, metrics: metrics)
      _ = try await login(fixture, "a\u{1b}nna", "x", from: "192.0.2.1")
      _ = try await register(fixture, "anna", from: "192.0.2.1")
      _ = try await register(fixture, "anna", from: "192.0.2.1")
      _ = try await register(fixture, "cleo", from: "192.0.2.1")
      _ = try await register(fixture, "bert", from: "192.0.2.1")
      // Then it isn't told either whether a name is taken.
      _ = try await login(fixture, "anna", "hunter2", from: "2001:db8::1")
      for _ in 0..<11 {
        _ = try await login(fixture, "no \"one\" \\", "hunter2", from: "192.0.2.2")
      }
      let text = try written()
      let lines = text.split(separator: "\n").filter { $0.contains("refused") }
        .map { $0.drop { $0 != "l" && $0 != "r" } }
      #expect(!text.contains("hunter2"))
      #expect(
        lines.prefix(4) == [
          #"registration refused client=192.0.2.1 name=anna reason="the name is taken""#,
          #"registration refused client=192.0.2.1 name=bert reason="too many accounts""#,
          #"login refused client=2001:db8::/64 name=anna reason="wrong name, password or signature""#,
          #"login refused client=192.0.2.2 name="no \"one\" \\" reason="wrong name, password or signature""#,
        ])
      #expect(lines.last?.hasSuffix(#"reason="too many failures""#) == true)
      // A network that knocks all the time has so many lines a minute.
      for _ in 0..<50 { _ = try await login(fixture, "nobody", "x", from: "192.0.2.2") }
      let all = try written()
      #expect(all.split(separator: "\n").count { $0.contains("192.0.2.2") } == 30)
      let rendered = metrics.render()
      for line in [
        #"awd_msgr_refused_logins_total{reason="forbidden"} 21"#,
        #"awd_msgr_refused_logins_total{reason="too many"} 41"#,
        #"awd_msgr_refused_registrations_total{reason="forbidden"} 1"#,
        #"awd_msgr_refused_registrations_total{reason="too many"} 1"#,
      ] { #expect(rendered.contains("\(line)\n"), "\(line)") }
    }
  }

  @Test func aWrongTokenIsNamedInTheLog() async throws {
    try await withLog { log, written in
      let fixture = try await Fixture(log: log)
      let wrong = "tk_" + String(repeating: "a", count: 29)
      let fields = [("Authorization", "Bearer \(wrong)")]
      for target in ["/publish", "/alerts", "/message"] {
        _ = try await fixture.request(
          .post, target, body: Array("x".utf8), fields: fields, from: "192.0.2.1", isDialect: true)
      }
      let text = try written()
      let line = #"login refused client=192.0.2.1 name="a token" reason="wrong token""#
      #expect(text.components(separatedBy: line).count == 3)
      #expect(!text.contains(wrong) && !text.contains("password"))
    }
  }

  @Test func contentsOfPushesAreLoggedOnRequestOnly() async throws {
    for isAsked in [false, true] {
      try await withLog { log, written in
        let provider = LogProvider(log: log, showsPayloads: isAsked, clock: { .now() })
        let push = try PushFixture.push(text: "a secret")
        #expect(provider.record(push, of: try await PushFixture().source) == .logged)
        let text = try written()
        #expect(text.contains("push "))
        #expect(text.contains("secret") == isAsked)
        #expect(!text.contains(PushFixture.device(1).text))
        #expect((provider.recent.count > 2) == isAsked)
      }
    }
  }
}
