internal import Cryptography
internal import Foundation
internal import HTTP2StandIn
internal import HTTPClient
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import Platform

@testable import PushServer

/// The program between the relay and stand-ins for Apple and Google.
@Suite(.ownThreads, .timeLimit(.minutes(2))) struct ProgramTests {
  /// A push service of both kinds, which grants access tokens, and answers by the address.
  private final class Providers: Sendable {
    struct Sent: Sendable {
      let path: String
      let fields: [String: String]
      let body: [UInt8]
    }

    private final class Judge: Sendable {
      let received = Lock<[Sent]>([])
      let answers = Lock<[String: StandInResponse]>([:])

      func judge(_ request: StandInRequest) -> StandInResponse {
        let path = request[":path"] ?? ""
        guard path != "/token" else {
          let grant = #"{"access_token":"ya29.1","expires_in":3600,"token_type":"Bearer"}"#
          return .respond(200, fields: ["content-type": "application/json"], body: grant)
        }
        let sent = Sent(
          path: path, fields: Dictionary(request.fields.map { ($0.name, $0.value) }) { $1 },
          body: request.body)
        received.withLock { $0.append(sent) }
        let text = path + String(decoding: request.body, as: UTF8.self)
        let answer = answers.withLock { $0.first { text.contains($0.key) }?.value }
        return answer ?? .respond(200, body: "{}")
      }
    }

    private let judge: Judge
    private let server: HTTP2StandIn
    let url: String

    init() throws {
      let certificates = try TestCertificates.shared.get().server
      let judge = Judge()
      self.judge = judge
      server = try HTTP2StandIn(
        certificate: certificates.certificate, key: certificates.key
      ) { judge.judge($0) }
      url = server.url
    }

    var sent: [Sent] { judge.received.withLock { $0 } }
    func answer(_ address: String, _ response: StandInResponse) {
      judge.answers.withLock { $0[address] = response }
    }

    /// Returns the last JSON that came for an address.
    func json(for address: String) throws -> [String: Any] {
      let found = sent.last {
        ($0.path + String(decoding: $0.body, as: UTF8.self)).contains(address)
      }
      let body = try #require(found).body
      return try #require(
        try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
    }
  }

  private let folder = TemporaryFolder()
  private let reserved: ReservedPort
  private let providers: Providers
  /// Apple's push service for apps that are being made.
  private let sandbox: Providers
  private let client: WebClient

  init() throws {
    reserved = try ReservedPort()
    providers = try Providers()
    sandbox = try Providers()
    client = try WebClient()
    try folder.write(
      "fcm.json", try ServiceAccountFile.bytes(tokenURL: "\(providers.url)/token"))
    try configure("awd.toml", port: reserved.number)
  }

  /// Writes the configuration of a node.
  private func configure(_ file: String, port: UInt16, store: String = "sqlite:awd.sqlite3") throws
  {
    let certificates = try TestCertificates.shared.get()
    try folder.write(
      file,
      """
      [server]
      listen = ["127.0.0.1:\(port)"]
      services = ["pushserver"]
      data = "."
      public_url = "\(Fixture.url)"
      [store]
      url = "\(store)"
      [pushserver]
      relay_key = "\(Fixture.relay.publicKey.hex)"
      pushes_per_minute = 1000
      [push.apns]
      url = "\(providers.url)"
      sandbox_url = "\(sandbox.url)"
      topic = "com.example.app"
      key = "\(certificates.tokenKey)"
      key_id = "KEYID12345"
      team_id = "TEAMID1234"
      roots = "\(certificates.authority.certificate)"
      [push.fcm]
      credentials = "fcm.json"
      url = "\(providers.url)"
      roots = "\(certificates.authority.certificate)"
      """)
  }

  private func serve(_ file: String = "awd.toml") async throws -> ChildProcess {
    let child = try ChildProcess.awd(
      ["serve", "--config", "\(folder.path)/\(file)"], home: folder.path)
    _ = try await child.line(with: "listening at=")
    return child
  }

  private func stop(_ server: ChildProcess) async throws {
    server.signal(SIGTERM)
    #expect(try await server.ended() == .exited(0))
  }

  private func post(
    _ path: String, _ body: String, _ fields: [(FieldName, String)], to port: UInt16? = nil
  ) async throws -> String {
    var request = OutgoingRequest(
      "http://127.0.0.1:\(port ?? reserved.number)\(path)", json: Array(body.utf8))
    for (name, value) in fields { request.fields.append(name, value) }
    let response = try await client.send(request)
    return "\(response.status.code) \(String(decoding: response.body, as: UTF8.self))"
  }

  private func register(_ wallet: Wallet, _ type: String, isRaw: Bool) async throws -> String {
    let address = type == "fcm" ? wallet.token : wallet.keys.publicKey.hex
    let body =
      #"{"client_id":"\#(wallet.id)","type":"\#(type)","token":"\#(address)","always_raw":\#(isRaw)}"#
    let answer = try await post("/clients", body, [(.authorization, wallet.jwt(at: .now()))])
    #expect(answer == "200 " + Answer.success)
    return address
  }

  private func push(
    _ body: String, to wallet: Wallet, at port: UInt16? = nil
  ) async throws -> String {
    let proof = Fixture.proof(body, "\(Timestamp.now().seconds)")
    return try await post(
      "/clients/\(wallet.id)", body,
      [
        (FieldName("X-Ed25519-Signature"), proof["X-Ed25519-Signature"] ?? ""),
        (FieldName("X-Ed25519-Timestamp"), proof["X-Ed25519-Timestamp"] ?? ""),
      ], to: port)
  }

  /// Pushes a message, and returns the JSON that its provider is sent.
  private func sent(
    _ body: String, to wallet: Wallet, at address: String, by provider: Providers? = nil
  ) async throws -> [String: Any] {
    let provider = provider ?? providers
    let count = provider.sent.count
    #expect(try await push(body, to: wallet) == "202 ")
    try await waitUntil(within: .seconds(10)) { provider.sent.count > count }
    return try provider.json(for: address)
  }

  private static func apns(
    _ alert: [String: String], _ rest: [String: Any]
  ) -> NSDictionary {
    let aps: [String: Any] = ["alert": alert, "content-available": 1, "mutable-content": 1]
    return rest.merging(["aps": aps]) { $1 } as NSDictionary
  }

  @Test func payloadsAreAsTheReferenceMakesThem() async throws {
    let server = try await serve()
    let title = ["title": "You have new notifications. Open to view"]
    let long = String(repeating: "A", count: 5000)
    let topic = ["topic": "t1"]
    let words = ["title": "An offer", "body": "\"Sign\" in/out é"]
    let blob = try JSONSerialization.data(withJSONObject: words).base64EncodedString()
    let longBlob = try JSONSerialization.data(withJSONObject: ["title": "An offer", "body": long])
      .base64EncodedString()
    for type in ["apns", "apns-sandbox", "fcm"] {
      let raw = Wallet()
      let older = Wallet()
      let address = try await register(raw, type, isRaw: true)
      let other = try await register(older, type, isRaw: false)
      let provider = type == "apns-sandbox" ? sandbox : providers
      var answers: [[String: Any]] = []
      for body in [Fixture.raw("m/+="), Fixture.raw(long)] {
        answers.append(try await sent(body, to: raw, at: address, by: provider))
      }
      for body in [
        Fixture.older("1", flags: 3, "b/+="), Fixture.older("2", flags: 1, long),
        Fixture.older("3", flags: 2, blob), Fixture.older("4", flags: 0, longBlob),
      ] {
        answers.append(try await sent(body, to: older, at: other, by: provider))
      }
      var expected: [NSDictionary] = []
      if type == "fcm" {
        let data: [[String: String]] = [
          ["tag": "4002", "message": "m/+="], ["tag": "4002"], ["flags": "3", "blob": "b/+="],
          ["flags": "1"], ["flags": "2", "blob": blob], ["flags": "0"],
        ].map { topic.merging($0) { $1 } }
        for (index, data) in data.enumerated() {
          var message: [String: Any] = [
            "token": index < 2 ? address : other, "data": data,
            "apns": ["payload": ["aps": ["content-available": 1]]],
          ]
          if index == 4 { message["notification"] = words }
          if index == 5 { message["notification"] = ["title": "An offer"] }
          let sent = answers[index]["message"] as? [String: Any]
          let android = try #require(sent?["android"] as? [String: String])
          #expect(android["priority"] == "HIGH" && android["collapse_key"] == nil)
          let life = try #require(Int(android["ttl"]?.dropLast() ?? ""))
          #expect((86_300...86_400).contains(life))
          message["android"] = android
          expected.append(["message": message])
        }
      } else {
        expected = [
          Self.apns(title, ["topic": "t1", "tag": 4002, "message": "m/+="]),
          Self.apns(title, ["topic": "t1", "tag": 4002]),
          Self.apns(title, ["topic": "t1", "blob": "b/+="]), Self.apns(title, topic),
          Self.apns(words, topic), Self.apns(["title": "An offer"], topic),
        ]
        let last = try #require(provider.sent.last)
        #expect(last.path == "/3/device/\(other)")
        #expect(last.fields["apns-push-type"] == "alert" && last.fields["apns-priority"] == "10")
        #expect(last.fields["apns-topic"] == "com.example.app")
        #expect(
          last.fields["apns-id"]?.wholeMatch(of: /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/) != nil
        )
        #expect(last.fields["authorization"]?.hasPrefix("bearer ey") == true)
        let end = try #require(last.fields["apns-expiration"].flatMap { Int64($0) })
        #expect((86_000...86_400).contains(end - Timestamp.now().seconds))
      }
      for (answer, expected) in zip(answers, expected) {
        #expect(answer as NSDictionary == expected, "\(type)")
      }
    }
    // Each of Apple's two push services got what is its own.
    #expect(providers.sent.count == 12 && sandbox.sent.count == 6)
    #expect((providers.sent + sandbox.sent).allSatisfy { $0.body.count < 4500 })
    // Nothing that was sent, nor an address, is in the log.
    try await stop(server)
    for secret in ["m/+=", "b/+=", "An offer", "fcm-"] { #expect(!server.errors.contains(secret)) }
  }

  @Test func anAddressThatEndsDeletesItsClient() async throws {
    let server = try await serve()
    for (type, status, body) in [
      (
        "fcm", 404,
        #"{"error":{"details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","#
          + #""errorCode":"UNREGISTERED"}]}}"#
      ), ("apns", 410, #"{"reason":"Unregistered","timestamp":4000000000000}"#),
    ] {
      let wallet = Wallet()
      let bystander = Wallet()
      let address = try await register(wallet, type, isRaw: true)
      let other = try await register(bystander, type, isRaw: true)
      providers.answer(address, .respond(status, body: body))
      #expect(try await push(Fixture.raw("m1"), to: wallet) == "202 ")
      try await waitUntil(within: .seconds(20)) {
        try await push(Fixture.raw("m1"), to: wallet) == "202 " + Answer.success
      }
      _ = try await sent(Fixture.raw("m2"), to: bystander, at: other)
      // It can come back.
      providers.answer(address, .respond(200))
      _ = try await register(wallet, type, isRaw: true)
      _ = try await sent(Fixture.raw("m3"), to: wallet, at: address)
    }
    try await stop(server)
  }

  /// A node that dies leaves its pushes to another one, which has all that was registered and taken.
  @Test(.withOtherPrograms) func anotherNodeGoesOn() async throws {
    let server = try PostgreSQLServer.shared.get()
    let database = try server.makeDatabase()
    defer { try? server.removeDatabase(database) }
    let other = try ReservedPort()
    try configure("a.toml", port: reserved.number, store: server.url(of: database))
    try configure("b.toml", port: other.number, store: server.url(of: database))
    let first = try await serve("a.toml")
    let sleeper = Wallet()
    let gone = Wallet()
    let address = try await register(sleeper, "fcm", isRaw: true)
    let goneAddress = try await register(gone, "fcm", isRaw: true)
    for address in [address, goneAddress] {
      providers.answer(address, .respond(429, fields: ["retry-after": "4"], body: "{}"))
    }
    for wallet in [sleeper, gone] {
      #expect(try await push(Fixture.raw("m1"), to: wallet) == "202 ")
    }
    // The attempts are over, and both wait.
    try await waitUntil(within: .seconds(10)) { providers.sent.count == 2 }
    try await Task.sleep(for: .seconds(1))
    first.signal(SIGKILL)
    _ = try await first.ended()
    for address in [address, goneAddress] { providers.answer(address, .respond(200, body: "{}")) }
    let second = try await serve("b.toml")
    // Had before, by whichever node; and what is deleted here isn't pushed, whoever queued it.
    #expect(try await push(Fixture.raw("m1"), to: sleeper, at: other.number) == "200 ")
    var deletion = OutgoingRequest(
      .delete, "http://127.0.0.1:\(other.number)/clients/\(gone.id)", body: [])
    deletion.fields.append(.authorization, gone.jwt(at: .now()))
    #expect(try await client.send(deletion).status == .ok)
    try await waitUntil(within: .seconds(30)) { providers.sent.count > 2 }
    try await Task.sleep(for: .seconds(5))
    let bodies = providers.sent.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(bodies.filter { $0.contains(address) }.count == 2)
    #expect(bodies.filter { $0.contains(goneAddress) }.count == 1)
    try await stop(second)
  }

  /// What was answered with 202 is pushed, whatever happens to the process.
  @Test func aKillLosesNothing() async throws {
    var server = try await serve()
    let wallets = (0..<20).map { _ in Wallet() }
    for wallet in wallets {
      let address = try await register(wallet, "fcm", isRaw: true)
      providers.answer(address, .silence)
    }
    for number in 0..<3 {
      for wallet in wallets {
        #expect(try await push(Fixture.raw("m\(number)"), to: wallet) == "202 ")
      }
    }
    server.signal(SIGKILL)
    _ = try await server.ended()
    for wallet in wallets { providers.answer(wallet.token, .respond(200, body: "{}")) }
    let before = providers.sent.count
    server = try await serve()
    func pushed() -> Set<String> {
      Set(
        providers.sent.dropFirst(before).compactMap { sent in
          let json = try? JSONSerialization.jsonObject(with: Data(sent.body)) as? [String: Any]
          let message = json?["message"] as? [String: Any]
          let data = message?["data"] as? [String: String]
          return "\(message?["token"] ?? "") \(data?["message"] ?? "")"
        })
    }
    try await waitUntil(within: .seconds(60)) { pushed().count == 60 }
    // A relay that didn't see the answer asks again.
    #expect(try await push(Fixture.raw("m0"), to: wallets[0]) == "200 ")
    try await stop(server)
  }
}
