internal import Cryptography
internal import Foundation
internal import HTTPProtocol
internal import Push
internal import TestSupport
internal import Testing
internal import Platform

@testable import PushServer

/// The relay's messages, from its signature to the row of the outbox.
@Suite struct MessageTests {
  private static let blob = Data(#"{"title":"Offer","body":"Sign in"}"#.utf8).base64EncodedString()

  @Test func aMessageIsTakenOnce() async throws {
    let fixture = try await Fixture(#"projects = ["p1"]"#)
    let wallet = Wallet()
    let early = try await fixture.push(Fixture.raw("m1"), to: wallet)
    #expect(early.status == 202 && early.body == Answer.success)
    try await fixture.register(wallet)
    let first = try await fixture.push(Fixture.raw("m1"), to: wallet)
    #expect(first.status == 202 && first.body == "")
    for (path, age) in [("/clients", 0), ("/p1/clients", 0), ("/clients", 2 * 86_400)] {
      let again = try await fixture.push(
        Fixture.raw("m1"), to: wallet, at: path, age: .seconds(age))
      #expect(again.status == 200 && again.body == "")
    }
    // Neither a new registration nor another form makes it another message.
    let token = wallet.jwt(at: fixture.clock.now)
    _ = try await fixture.request(.delete, "/clients/\(wallet.id)", "", ["Authorization": token])
    try await fixture.register(wallet, ["always_raw": false])
    let id = SHA256.hash(Array("m1".utf8)).hex
    #expect(try await fixture.push(Fixture.older(id, "b"), to: wallet).status == 200)
    #expect(try await fixture.push(Fixture.older("other", "b"), to: wallet).status == 202)
    #expect(try await fixture.waiting().map { $0.message?.blob } == ["b"])
    #expect(fixture.requests("accepted") == 2 && fixture.requests("repeated") == 4)
    #expect(fixture.requests("unknown") == 1)
  }

  /// Every call that was captured is worth nothing: it is remembered as long as its timestamp is good.
  @Test func nothingSignedIsPushedTwice() async throws {
    let fixture = try await Fixture()
    let wallet = Wallet()
    try await fixture.register(wallet)
    let timestamp = "\((fixture.clock.now + .seconds(300)).milliseconds)"
    let body = Fixture.raw("m1")
    let proof = Fixture.proof(body, timestamp)
    var statuses: [Int] = []
    for hour in 0..<80 {
      let path = "/clients/\(wallet.id)"
      statuses.append(try await fixture.request(.post, path, body, proof).status)
      try await fixture.service.tidy()
      fixture.clock.advance(by: .seconds(hour == 0 ? 240 : 3600))
    }
    #expect(statuses.filter { $0 == 202 }.count == 1 && statuses.first == 202)
    #expect(statuses.filter { $0 == 200 }.count == 73, "three days, and the five minutes ahead")
    #expect(statuses.last == 401)
    #expect(try await fixture.count("SELECT count(*) FROM pushserver_messages") == 0)
  }

  @Test func proofsWithFaults() async throws {
    let fixture = try await Fixture()
    let wallet = Wallet()
    try await fixture.register(wallet)
    let body = Fixture.raw("m1")
    let now = fixture.clock.now.seconds
    let good = Fixture.proof(body, "\(now)")
    func changed(_ name: String, _ value: String?) -> [String: String] {
      var fields = good
      fields["X-Ed25519-\(name)"] = value
      return fields
    }
    let other = AuthenticationKeyPair.generate()
    let hex = try #require(good["X-Ed25519-Signature"])
    let wrong: [[String: String]] = [
      changed("Signature", String(hex.dropLast())), changed("Signature", hex + "00"),
      changed("Signature", "zz" + hex.dropFirst(2)), changed("Signature", ""),
      changed("Signature", String(repeating: "0", count: 128)),
      changed("Timestamp", "\(now + 1)"), changed("Timestamp", "\(now)000"),
      changed("Timestamp", ""), Fixture.proof(body, "\(now)", by: other),
      Fixture.proof(body + " ", "\(now)"), Fixture.proof(body, "0"),
      Fixture.proof(body, "+\(now)".padding(toLength: 10, withPad: "0", startingAt: 0)),
      Fixture.proof(body, "\(now).0"), Fixture.proof(body, "\(now)0"),
      Fixture.proof(body, "\(now - 3 * 86_400 - 1)"), Fixture.proof(body, "\(now + 301)"),
      Fixture.proof(body, "\((now - 3 * 86_400) * 1000 - 1)"),
      Fixture.proof(body, "\((now + 300) * 1000 + 1)"), Fixture.proof(body, "9999999999999"),
    ]
    for (number, fields) in wrong.enumerated() {
      let answer = try await fixture.request(
        .post, "/clients/\(wallet.id)", body, fields, from: "127.0.1.\(number)")
      #expect(answer.status == 401, "\(number)")
      #expect(answer.failure == "webhook_validation_failed" && answer.places.isEmpty, "\(number)")
    }
    for (names, places) in [
      (["Signature"], ["X-Ed25519-Signature header"]),
      (["Timestamp"], ["X-Ed25519-Timestamp header"]),
      (
        ["Signature", "Timestamp"],
        ["X-Ed25519-Signature header", "X-Ed25519-Timestamp header"]
      ),
    ] {
      let fields = good.filter { name, _ in !names.contains { name.hasSuffix($0) } }
      let answer = try await fixture.request(.post, "/clients/\(wallet.id)", body, fields)
      #expect(answer.status == 401 && answer.places == places)
    }
    #expect(try await fixture.waiting().isEmpty)
    #expect(fixture.requests("forged") == wrong.count + 3)
    for timestamp in [
      now, now - 3 * 86_400, now + 300, now * 1000, (now - 3 * 86_400) * 1000, (now + 300) * 1000,
    ] {
      let body = Fixture.raw("m\(timestamp)")
      let proof = Fixture.proof(body, "\(timestamp)")
      let answer = try await fixture.request(.post, "/clients/\(wallet.id)", body, proof)
      #expect(answer.status == 202, "\(timestamp)")
    }
  }

  /// An address with many failures is refused unread, but for ten tries a second, and one that the relay has used is not.
  @Test func aForgersAddressIsHardlyRead() async throws {
    let fixture = try await Fixture()
    let wallet = Wallet()
    try await fixture.register(wallet)
    func forge(_ count: Int, from peer: String) async throws -> [Int: Int] {
      var statuses: [Int: Int] = [:]
      for _ in 0..<count {
        let proof = Fixture.proof("x", "\(fixture.clock.now.seconds)")
        let answer = try await fixture.request(
          .post, "/clients/\(wallet.id)", "y", proof, from: peer)
        statuses[answer.status, default: 0] += 1
        if answer.status == 503 {
          #expect(answer.failure == "unavailable" && answer.fields.first(.retryAfter) == "1")
        }
      }
      return statuses
    }
    #expect(try await forge(100, from: "127.0.0.2") == [401: 30, 503: 70])
    #expect(try await forge(20, from: "127.0.0.3") == [401: 20])
    fixture.clock.advance(by: .seconds(2))
    #expect(try await forge(100, from: "127.0.0.2") == [401: 10, 503: 90])
    // The relay behind the same proxy gets through, and proves the address for an hour.
    fixture.clock.advance(by: .seconds(2))
    #expect(
      try await fixture.push(Fixture.raw("m1"), to: wallet, from: "127.0.0.2").status == 202)
    #expect(try await forge(100, from: "127.0.0.2") == [401: 100])
    fixture.clock.advance(by: .seconds(3600 + 600))
    #expect(try await forge(100, from: "127.0.0.2") == [401: 30, 503: 70])
  }

  @Test func bodiesWithFaults() async throws {
    let fixture = try await Fixture()
    let raw = Wallet()
    let older = Wallet()
    try await fixture.register(raw)
    try await fixture.register(older, ["always_raw": nil])
    let whole = Fixture.raw("m")
    let blob = Fixture.older("i", "b")
    for (wallet, body, failure) in [
      (raw, blob, "field"), (raw, #"{"topic":"t","tag":1}"#, "field"), (raw, "{}", "field"),
      (raw, #"{"tag":1,"message":"m"}"#, "field"), (older, whole, "field"),
      (older, #"{"id":"i"}"#, "field"),
      (older, #"{"id":"i","payload":{"topic":"t","flags":1}}"#, "field"),
      (older, #"{"payload":{"topic":"t","flags":1,"blob":"b"}}"#, "field"), (raw, "", "body"),
      (raw, "x", "body"), (raw, #"{"topic":"t","tag":-1,"message":"m"}"#, "body"),
      (raw, #"{"topic":"t","tag":4294967296,"message":"m"}"#, "body"),
      (raw, #"{"topic":"t","tag":"1","message":"m"}"#, "body"),
      (older, #"{"id":1,"payload":{"topic":"t","flags":1,"blob":"b"}}"#, "body"),
      (older, #"{"id":"i","payload":[]}"#, "body"),
    ] {
      let answer = try await fixture.push(body, to: wallet)
      #expect(answer.status == 400 && answer.failure == failure, "\(body) \(answer)")
    }
    for blob in [
      "b", "!", Data("{}".utf8).base64EncodedString(),
      Data(#"{"title":"t"}"#.utf8).base64EncodedString(),
    ] {
      let answer = try await fixture.push(Fixture.older("i", flags: 2, blob), to: older)
      #expect(answer.status == 202 && answer.failure == "json", "\(blob)")
    }
    #expect(try await fixture.waiting().isEmpty)
    #expect(try await fixture.count("SELECT count(*) FROM pushserver_messages") == 0)
    // Both sets together serve both kinds of clients.
    let both = String(whole.dropLast()) + "," + blob.dropFirst()
    #expect(try await fixture.push(both, to: raw).status == 202)
    #expect(try await fixture.push(both, to: older).status == 202)
    #expect(try await fixture.waiting().map { $0.message?.message } == ["m", nil])
    #expect(try await fixture.waiting().map { $0.message?.blob } == [nil, "b"])
  }

  @Test func limits() async throws {
    let fixture = try await Fixture("pushes_per_minute = 1200")
    let wallet = Wallet()
    try await fixture.register(wallet)
    for number in 0..<1100 {
      #expect(try await fixture.push(Fixture.raw("m\(number)"), to: wallet).status == 202)
      fixture.clock.advance(by: .milliseconds(1))
    }
    #expect(try await fixture.count("SELECT count(*) FROM pushserver_messages") == 1000)
    #expect(try await fixture.waiting().count == 100)
    #expect(try await fixture.waiting().first?.message?.message == "m1000")
    #expect(try await fixture.push(Fixture.raw("m100"), to: wallet).status == 200)
    for number in 0..<99 {
      #expect(try await fixture.push(Fixture.raw("n\(number)"), to: wallet).status == 202)
    }
    let often = try await fixture.push(Fixture.raw("n99"), to: wallet)
    #expect(often.status == 429 && often.failure == "rate_limited")
    #expect(often.fields.first(.retryAfter) != nil)
    // The relay tries again then; the message wasn't taken.
    fixture.clock.advance(by: .seconds(90))
    #expect(try await fixture.push(Fixture.raw("n99"), to: wallet).status == 202)
  }

  @Test func unusedClientsGo() async throws {
    let fixture = try await Fixture(#"client_age = "10d""#)
    let used = Wallet()
    let unused = Wallet()
    for wallet in [used, unused] { try await fixture.register(wallet) }
    for day in 1...11 {
      fixture.clock.advance(by: .seconds(86_400))
      #expect(try await fixture.push(Fixture.raw("m\(day)"), to: used).status == 202)
      try await fixture.service.tidy()
    }
    #expect(try await fixture.count("SELECT count(*) FROM pushserver_clients") == 1)
    #expect(fixture.service.routes.clients.withLock { $0 } == 1)
    let gone = try await fixture.push(Fixture.raw("m"), to: unused)
    #expect(gone.status == 202 && gone.body == Answer.success)
    // Identifiers of three days are kept.
    #expect(try await fixture.count("SELECT count(*) FROM pushserver_messages") == 4)
  }
}
