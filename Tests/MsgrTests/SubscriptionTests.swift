internal import Cryptography
internal import Foundation
internal import HTTPProtocol
internal import Storage
internal import TestSupport
internal import Testing

@testable import Msgr
@testable import Push

/// Subscriptions of browsers, as they come and go.
@Suite(.ownThreads) struct SubscriptionTests {
  static let key =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
  static let auth = "BTBZMqHH6r4Tts7J_aSIgg"

  private func subscribe(
    _ fixture: Fixture, _ token: String, _ fields: [String: Any] = [:]
  ) async throws -> TestResponse {
    let all: [String: Any] = [
      "Endpoint": "https://push.example/a", "P256dh": Self.key, "Auth": Self.auth,
    ]
    return try await fixture.post("/subscribe", all.merging(fields) { $1 }, token: token)
  }

  private func waiting(_ fixture: Fixture) async throws -> Int? {
    try await fixture.store.read { snapshot in
      try snapshot.one("SELECT count(*) FROM push_outbox WHERE kind = 1") { try $0[0] }
    }
  }

  @Test func theKeyStaysTheSame() async throws {
    let fixture = try await Fixture()
    let key = try await fixture.request(.get, "/push-key").object["Key"] as? String
    let bytes = try #require(key.flatMap(Base64URL.decode))
    #expect(P256PublicKey(bytes) != nil)
    let file = VAPIDKeyFile(path: "\(fixture.folder.path)/var/msgr-web-push.pem")
    let (pair, isNew) = try file.open()
    #expect(!isNew)
    #expect(pair.publicKey.bytes == bytes)
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    try Data("x".utf8).write(to: URL(filePath: file.path))
    #expect(throws: PushSetupError.self) { try file.open() }
  }

  @Test(arguments: ["anna", "\u{301}anna", "\u{301}x/bert"])
  func aDeviceIsItsUsers(_ name: String) throws {
    let device = try DeviceID("stream:anna-1234").owned(by: UserName(stored: name))
    #expect(device.owner?.text == name)
  }

  @Test func aSubscribedDeviceIsPushedTo() async throws {
    let fixture = try await Fixture("push = \"off\"\n")
    let token = try await fixture.register("anna", device: "stream:anna-1234")
    try await fixture.register("bert")
    try await fixture.send("0", from: "bert", to: "anna")
    #expect(try await waiting(fixture) == 0)
    #expect(try await subscribe(fixture, token, ["Declarative": true]).status == 200)
    let sessions = try await fixture.post("/sessions", [:], token: token).array
    #expect((sessions.first as? [String: Any])?["Kind"] as? String == "webpush")
    try await fixture.send("1", from: "bert", to: "anna")
    #expect(try await waiting(fixture) == 1)
    #expect(try await fixture.post("/unsubscribe", [:], token: token).status == 200)
    #expect(try await waiting(fixture) == 0)
    try await fixture.send("2", from: "bert", to: "anna")
    #expect(try await waiting(fixture) == 0)
  }

  @Test func noMorePushesWaitForABrowserThanItWouldShow() async throws {
    let fixture = try await Fixture("push = \"off\"\n")
    let token = try await fixture.register("anna", device: "stream:anna-1234")
    try await fixture.register("bert")
    #expect(try await subscribe(fixture, token).status == 200)
    for number in 0..<MsgrStore.webPushes + 5 {
      try await fixture.send("\(number)", from: "bert", to: "anna")
    }
    #expect(try await waiting(fixture) == MsgrStore.webPushes)
    #expect(try await PushFixture.texts(fixture.store).first == "5")
  }

  @Test func aSubscriptionIsATokensDevices() async throws {
    let fixture = try await Fixture()
    let phone = try await fixture.register("anna")
    #expect(try await subscribe(fixture, phone).status == 403)
    let fields = [
      "Username": "anna", "Password": "pw", "Endpoint": "https://push.example/a",
      "P256dh": Self.key, "Auth": Self.auth,
    ]
    #expect(try await fixture.post("/subscribe", fields).status == 403)
  }

  @Test(arguments: [
    "http://push.example/", "https://push.example:8443/", "https://user@push.example/",
    "https:///x", "https://push.example/#x", "https://push.example\\@h/", "https://[::1/",
    "https://push.example:/", "https://push.example:0443x/", "ftp://push.example/", "push.example",
    "https://push.exa mple/", "https://" + String(repeating: "x", count: 1020), "",
  ])
  func addressesThatCantBeOnesAreRefused(_ endpoint: String) async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna", device: "stream:anna-1234")
    let response = try await subscribe(fixture, token, ["Endpoint": endpoint])
    #expect(response.status == 400)
    #expect(response.field == "Endpoint")
  }

  @Test func theOperatorAllowsPorts() async throws {
    let fixture = try await Fixture(
      "[push.web]\nallow = [\"Push.lan:8443\", \"192.0.2.7\"]\n")
    let token = try await fixture.register("anna", device: "stream:anna-1234")
    for (endpoint, status) in [
      ("https://push.LAN:8443/x", 200), ("https://push.lan:8444/x", 400),
      ("https://192.0.2.7:443/x", 200), ("HTTPS://push.example/x", 200),
    ] {
      let response = try await subscribe(fixture, token, ["Endpoint": endpoint])
      #expect(response.status == status, "\(endpoint)")
    }
  }

  @Test(arguments: [
    ("P256dh", ""), ("P256dh", "AAAA"), ("P256dh", String(repeating: "B", count: 87)),
    ("Auth", "AAAA"), ("Auth", "!"), ("Declarative", "maybe"),
  ])
  func keysThatCantBeUsedAreRefused(_ field: String, _ value: String) async throws {
    let fixture = try await Fixture()
    let token = try await fixture.register("anna", device: "stream:anna-1234")
    let response = try await subscribe(fixture, token, [field: value])
    #expect(response.status == 400)
    #expect(response.field == field)
  }
}
