internal import Cryptography
internal import HTTPProtocol
internal import Push
internal import TestSupport
internal import Storage
internal import Testing
internal import Platform

@testable import PushServer

/// Wallets come, change and go.
@Suite struct RegistrationTests {
  @Test func identifiers() {
    let wallet = Wallet()
    #expect(ClientKey(wallet.id)?.key == wallet.keys.publicKey)
    #expect(ClientKey("did:key:" + wallet.id)?.key == wallet.keys.publicKey)
    // A vector of the specification of did:key.
    let known = ClientKey("did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp")
    let hex = "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29"
    #expect(known?.key.hex == hex)
    let key = wallet.keys.publicKey.bytes
    for text in [
      "", "z", wallet.id.lowercased(), String(wallet.id.dropFirst()), String(wallet.id.dropLast()),
      wallet.id + "1", "z1" + wallet.id.dropFirst(), wallet.id + " ", "m" + wallet.id.dropFirst(),
      "did:key:did:key:" + wallet.id, "did:web:" + wallet.id, String(repeating: "z", count: 49),
      String(repeating: "z", count: 48), Wallet.identifier([0xed, 0x00] + key),
      Wallet.identifier([0xec, 0x01] + key), Wallet.identifier([0xed, 0x01] + key + [0]),
      Wallet.identifier([0x00, 0xed, 0x01] + key),
      Wallet.identifier([0xed, 0x01] + key.dropLast()),
      "z0" + wallet.id.dropFirst(2), "zé" + wallet.id.dropFirst(2),
    ] { #expect(ClientKey(text) == nil, "\(text)") }
  }

  @Test func aWalletComesAndGoes() async throws {
    let fixture = try await Fixture(#"projects = ["p1", "p-2_"]"#)
    let wallet = Wallet()
    for path in ["/clients", "/p1/clients", "/p-2_/clients"] {
      let answer = try await fixture.register(wallet, at: path)
      #expect(answer.status == 200 && answer.body == Answer.success)
    }
    #expect(try await fixture.register(wallet, at: "/p2/clients").status == 404)
    let did = try await fixture.register(wallet, ["client_id": "did:key:" + wallet.id])
    #expect(did.body == Answer.success)
    #expect(try await fixture.count("SELECT count(*) FROM pushserver_clients") == 1)
    for path in ["/clients/\(wallet.id)", "/p1/clients/did:key:\(wallet.id)"] {
      let token = wallet.jwt(at: fixture.clock.now, claims: ["aud": Fixture.url + "/"])
      let answer = try await fixture.request(
        .delete, path, "", ["Authorization": "Bearer \(token)"])
      #expect(answer.status == 200 && answer.body == Answer.success)
    }
    #expect(try await fixture.count("SELECT count(*) FROM pushserver_clients") == 0)
    #expect(fixture.requests("registered") == 4 && fixture.requests("deleted") == 2)
    #expect(fixture.service.routes.clients.withLock { $0 } == 0)
    for (method, path) in [
      (HTTPProtocol.Method.get, "/clients"), (.get, "/clients/\(wallet.id)"),
      (.options, "/clients"), (.delete, "/clients"),
    ] { #expect(try await fixture.request(method, path).status == 405, "\(method) \(path)") }
  }

  @Test func aTokenMovesAndIsReplaced() async throws {
    let fixture = try await Fixture()
    let first = Wallet()
    let second = Wallet()
    try await fixture.register(first)
    #expect(try await fixture.push(Fixture.raw("m1"), to: first).status == 202)
    // Another address of the same kind takes along what waits.
    try await fixture.register(first, ["token": second.token])
    #expect(try await fixture.waiting().map(\.address) == [second.token])
    // Of another kind it doesn't.
    let apple = String(repeating: "AB", count: 32)
    try await fixture.register(first, ["token": apple, "type": "apns-sandbox"])
    #expect(try await fixture.waiting().isEmpty)
    #expect(try await fixture.push(Fixture.raw("m2"), to: first).status == 202)
    #expect(try await fixture.waiting().map(\.address) == [apple.lowercased()])
    #expect(try await fixture.waiting().map(\.kind) == [.apnsSandbox])
    // Whoever registers an address last has it, alone.
    try await fixture.register(second, ["token": apple.lowercased(), "type": "apns-sandbox"])
    #expect(try await fixture.waiting().isEmpty)
    #expect(try await fixture.count("SELECT count(*) FROM pushserver_clients") == 1)
    #expect(fixture.service.routes.clients.withLock { $0 } == 1)
    let gone = try await fixture.push(Fixture.raw("m3"), to: first)
    #expect(gone.status == 202 && gone.body == Answer.success)
  }

  /// What is under way goes too: if the attempt fails, it would be tried again.
  @Test func whatIsUnderWayGoesWithItsClient() async throws {
    let fixture = try await Fixture()
    let wallet = Wallet()
    let apple = String(repeating: "AB", count: 32)
    for change in ["delete", "move"] {
      try await fixture.register(wallet)
      #expect(try await fixture.push(Fixture.raw(change), to: wallet).status == 202)
      try await fixture.store.write { transaction in
        try transaction.execute(
          "UPDATE push_outbox SET lease_owner = ?, lease_end = 1", [UInt8](arrayLiteral: 1))
      }
      if change == "delete" {
        let token = wallet.jwt(at: fixture.clock.now, claims: ["aud": Fixture.url + "/"])
        let answer = try await fixture.request(
          .delete, "/clients/\(wallet.id)", "", ["Authorization": "Bearer \(token)"])
        #expect(answer.status == 200)
      } else {
        try await fixture.register(wallet, ["token": apple, "type": "apns-sandbox"])
      }
      #expect(try await fixture.waiting().isEmpty)
    }
  }

  @Test func tokensWithFaults() async throws {
    let fixture = try await Fixture()
    let wallet = Wallet()
    let other = Wallet()
    let now = fixture.clock.now
    let good = wallet.jwt(at: now)
    let parts = good.split(separator: ".").map(String.init)
    let wrong: [String?] = [
      nil, "", "Bearer", "Bearer ", "x", "Basic \(good)", "\(good).x", "\(parts[0]).\(parts[1])",
      "\(parts[0]).\(parts[1]).", ".\(parts[1]).\(parts[2])", "\(parts[0])..\(parts[2])",
      String(good.dropLast(2)), wallet.jwt(at: now, header: ["alg": "none"]),
      wallet.jwt(at: now, header: ["alg": "eddsa"]), wallet.jwt(at: now, header: ["alg": nil]),
      wallet.jwt(at: now, header: ["typ": "jwt"]), wallet.jwt(at: now, header: ["typ": nil]),
      wallet.jwt(at: now, header: ["crit": ["exp"]]), wallet.jwt(at: now, by: other.keys),
      other.jwt(at: now), wallet.jwt(at: now, claims: ["iss": wallet.id]),
      wallet.jwt(at: now, claims: ["iss": nil]),
      wallet.jwt(at: now, claims: ["iss": "did:key:\(other.id)"]),
      wallet.jwt(at: now, claims: ["aud": "https://other.example"]),
      wallet.jwt(at: now, claims: ["aud": "\(Fixture.url)//"]),
      wallet.jwt(at: now, claims: ["aud": nil]),
      wallet.jwt(at: now, claims: ["aud": [Fixture.url]]),
      wallet.jwt(at: now, claims: ["iat": now.seconds + 121]),
      wallet.jwt(at: now, claims: ["iat": nil]), wallet.jwt(at: now, claims: ["iat": "1"]),
      wallet.jwt(at: now, claims: ["exp": now.seconds - 121]),
      wallet.jwt(at: now, claims: ["exp": "never"]),
      wallet.jwt(at: now, claims: ["exp": nil, "iat": now.seconds - 86_400 - 121]),
    ]
    for (number, token) in wrong.enumerated() {
      for answer in [
        try await fixture.register(wallet, authorization: .some(token), from: "127.0.1.\(number)"),
        try await fixture.request(
          .delete, "/clients/\(wallet.id)", "", token.map { ["Authorization": $0] } ?? [:],
          from: "127.0.1.\(number)"),
      ] {
        #expect(answer.status == 401 && answer.failure == "authentication", "\(number)")
        #expect(answer.places == ["Authorization header"])
      }
    }
    #expect(try await fixture.count("SELECT count(*) FROM pushserver_clients") == 0)
    for token in [
      wallet.jwt(at: now, claims: ["iat": now.seconds + 120, "exp": now.seconds - 120]),
      wallet.jwt(
        at: now, claims: ["exp": nil, "sub": nil, "iat": now.seconds - 86_400, "act": "register"]),
      wallet.jwt(at: now, claims: ["aud": "\(Fixture.url)/"]),
    ] { #expect(try await fixture.register(wallet, authorization: token).status == 200) }
  }

  @Test func faultyFields() async throws {
    let fixture = try await Fixture()
    let wallet = Wallet()
    let cases: [(changes: [String: Any?], failure: String, place: String)] = [
      (["token": ""], "field", "token body"), (["token": nil], "field", "token body"),
      (["token": "short"], "field", "token body"),
      (["token": String(repeating: "x", count: 1025)], "field", "token body"),
      (["token": String(repeating: "é", count: 40)], "field", "token body"),
      (["type": "apns"], "field", "token body"),
      (["type": "apns", "token": String(repeating: "a", count: 65)], "field", "token body"),
      (["type": nil], "field", "type body"), (["client_id": nil], "field", "client_id body"),
      (["type": "web"], "provider_not_available", "provider body"),
      (["type": "noop"], "provider_not_available", "provider body"),
      (["type": "FCM"], "provider_not_available", "provider body"),
    ]
    for (changes, failure, place) in cases {
      let answer = try await fixture.register(wallet, changes)
      #expect(answer.status == 400 && answer.failure == failure, "\(changes) \(answer)")
      #expect(answer.places == [place], "\(changes)")
    }
    for body in [
      "", "[]", "{", "null", #"{"client_id":1}"#, #"{"client_id":"\#(wallet.id)","token":7}"#,
    ] {
      let answer = try await fixture.request(
        .post, "/clients", body, ["Authorization": wallet.jwt(at: fixture.clock.now)])
      #expect(answer.status == 400 && answer.failure == "body", "\(body)")
    }
    // An identifier that is no key can't have signed anything.
    #expect(try await fixture.register(wallet, ["client_id": "x"]).status == 401)
    let large = try await fixture.register(wallet, ["x": String(repeating: "x", count: 70_000)])
    #expect(large.status == 413)
    #expect(try await fixture.count("SELECT count(*) FROM pushserver_clients") == 0)
  }

  @Test func unsignedOnesUndoNothingThatIsSigned() async throws {
    let fixture = try await Fixture("unsigned = true")
    let signed = Wallet()
    let unsigned = Wallet()
    try await fixture.register(signed)
    #expect(try await fixture.register(unsigned, authorization: .some(nil)).status == 200)
    #expect(try await fixture.register(unsigned, authorization: .some(nil)).status == 200)
    #expect(try await fixture.register(signed, authorization: .some(nil)).status == 401)
    let taking = try await fixture.register(
      unsigned, ["token": signed.token], authorization: .some(nil))
    #expect(taking.status == 401 && taking.failure == "authentication")
    #expect(try await fixture.request(.delete, "/clients/\(signed.id)").status == 401)
    #expect(try await fixture.register(unsigned, authorization: "x").status == 401)
    #expect(
      try await fixture.register(unsigned, ["client_id": "x"], authorization: .some(nil)).places
        == ["client_id body"])
    #expect(try await fixture.count("SELECT count(*) FROM pushserver_clients") == 2)
    #expect(try await fixture.request(.delete, "/clients/\(unsigned.id)").status == 200)
    #expect(try await fixture.request(.delete, "/clients/\(Wallet().id)").status == 200)
    // Once it has signed, it must.
    #expect(try await fixture.register(unsigned, authorization: .some(nil)).status == 200)
    #expect(try await fixture.register(unsigned).status == 200)
    #expect(try await fixture.request(.delete, "/clients/\(unsigned.id)").status == 401)
  }

  @Test func limits() async throws {
    let fixture = try await Fixture(
      "clients = 2\nregistrations_per_minute = 4\nregistrations_per_day = 6")
    let wallets = (0..<3).map { _ in Wallet() }
    #expect(try await fixture.register(wallets[0]).status == 200)
    #expect(try await fixture.register(wallets[1]).status == 200)
    for wallet in wallets.prefix(2) {
      #expect(try await fixture.push(Fixture.raw("m"), to: wallet).status == 202)
    }
    let full = try await fixture.register(wallets[2])
    #expect(full.status == 503 && full.failure == "unavailable")
    #expect(full.fields.first(.retryAfter) != nil)
    // One that takes another's place is no more.
    #expect(try await fixture.register(wallets[2], ["token": wallets[1].token]).status == 200)
    let often = try await fixture.register(wallets[2])
    #expect(often.status == 429 && often.failure == "rate_limited")
    #expect(often.fields.first(.retryAfter) != nil)
    #expect(try await fixture.request(.delete, "/clients/x").status == 429)
    fixture.clock.advance(by: .seconds(120))
    #expect(try await fixture.register(wallets[0]).status == 200)
    #expect(try await fixture.register(wallets[0]).status == 200)
    #expect(try await fixture.register(wallets[0]).status == 429)
    #expect(fixture.requests("refused") == 4)
  }

  @Test func theLargestSiteMakesRoomForNewcomers() async throws {
    let fixture = try await Fixture("clients = 3")
    let crowd = (0..<3).map { _ in Wallet() }
    for wallet in crowd {
      #expect(try await fixture.register(wallet, from: "192.0.2.1").status == 200)
      fixture.clock.advance(by: .seconds(1))
    }
    // The relay pushes to the first one, which so stays.
    #expect(try await fixture.push(Fixture.raw("m"), to: crowd[0]).status == 202)
    let newcomers = (0..<2).map { _ in Wallet() }
    for (index, wallet) in newcomers.enumerated() {
      #expect(try await fixture.register(wallet, from: "198.51.\(index).1").status == 200)
    }
    #expect(try await fixture.count("SELECT count(*) FROM pushserver_clients") == 3)
    let sum = try await fixture.count("SELECT CAST(sum(clients) AS BIGINT) FROM pushserver_sites")
    #expect(sum == 3)
    #expect(fixture.service.routes.clients.withLock { $0 } == 3)
    for wallet in newcomers + [crowd[0]] {
      let answer = try await fixture.push(Fixture.raw("n"), to: wallet)
      #expect(answer.status == 202 && answer.body.isEmpty)
    }
    // Each site has one that is pushed to: who has none yet gets a place, who has one doesn't get another.
    #expect(try await fixture.register(Wallet(), from: "198.51.0.1").status == 503)
    #expect(try await fixture.register(Wallet(), from: "203.0.113.1").status == 200)
  }

  @Test func whoIsNeverPushedToGoesEarlier() async throws {
    let fixture = try await Fixture("unpushed_age = \"2d\"")
    let pushed = Wallet()
    try await fixture.register(pushed)
    try await fixture.register(Wallet())
    #expect(try await fixture.push(Fixture.raw("m"), to: pushed).status == 202)
    fixture.clock.advance(by: .seconds(3 * 86_400))
    try await fixture.service.tidy()
    #expect(try await fixture.count("SELECT count(*) FROM pushserver_clients") == 1)
    #expect(
      try await fixture.count("SELECT count(*) FROM pushserver_clients WHERE is_pushed = 1") == 1)
  }
}
