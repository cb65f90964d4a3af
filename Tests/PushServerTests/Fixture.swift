internal import Configuration
internal import Cryptography
internal import Foundation
internal import HTTPProtocol
internal import Observability
internal import Push
internal import Routing
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import PushServer

/// The service over a database of its own, whose pushes stay in the outbox.
struct Fixture: Sendable {
  static let url = "https://push.example"
  static let relay = AuthenticationKeyPair.generate()
  static let digits = "0123456789abcdef"

  let clock = TestClock()
  let folder = TemporaryFolder()
  let metrics = Metrics()
  let service: PushServerService
  let store: Store
  private let table: RouteTable

  init(_ configuration: String = "") async throws {
    let log = Log(level: .error, descriptor: -1)
    store = try await Store.open(
      TestStore.location("\(folder.path)/awd.sqlite3"), migrations: PushServerService.migrations)
    let toml = """
      [server]
      public_url = "\(Self.url)/"
      [pushserver]
      relay_key = "\(Self.relay.publicKey.hex)"
      push = "log"
      \(configuration)
      """
    let reader = ConfigurationReader(
      try ConfigurationDocument(parsing: Array(toml.utf8), file: "\(folder.path)/awd.toml"))
    let section = reader.section("pushserver")
    let configuration = PushServerConfiguration(section)
    try section.finish()
    service = try await PushServerService(
      ServiceContext(
        store: store, log: log, metrics: metrics, clock: { [clock] in clock.now },
        dataFolder: folder.path, publicURL: Self.url), configuration)
    var router = Router(service: PushServerService.name)
    service.register(on: &router)
    table = try RouteTable([router], log: log)
  }

  func request(
    _ method: HTTPProtocol.Method, _ path: String, _ body: String = "",
    _ fields: [String: String] = [:], from peer: String = "127.0.0.1"
  ) async throws -> Answer {
    var fields = fields.map { (name: $0.key, value: $0.value) }
    if !body.isEmpty { fields.append(("Content-Length", "\(body.utf8.count)")) }
    let head = try RequestHead(method: method, path: path, authority: "h", fields: fields)
    return Answer(
      await table.respond(
        to: Request(head: head, body: Array(body.utf8), origin: RequestOrigin(peer: peer))))
  }

  /// Registers a wallet, signed unless a header field is given.
  @discardableResult
  func register(
    _ wallet: Wallet, _ changes: [String: Any?] = [:], authorization: String?? = nil,
    at path: String = "/clients", from peer: String = "127.0.0.1"
  ) async throws -> Answer {
    var members: [String: Any] = [
      "client_id": wallet.id, "type": "fcm", "token": wallet.token, "always_raw": true,
    ]
    for (name, value) in changes { members[name] = value }
    let body = try JSONSerialization.data(withJSONObject: members)
    let field = authorization ?? wallet.jwt(at: clock.now)
    return try await request(
      .post, path, String(decoding: body, as: UTF8.self),
      field.map { ["Authorization": $0] } ?? [:], from: peer)
  }

  /// Sends a message as the relay does.
  func push(
    _ body: String, to wallet: Wallet, at path: String = "/clients", age: Duration = .zero,
    from peer: String = "127.0.0.1"
  ) async throws -> Answer {
    let timestamp = "\((clock.now - age).seconds)"
    return try await request(
      .post, "\(path)/\(wallet.id)", body, Self.proof(body, timestamp), from: peer)
  }

  static func proof(
    _ body: String, _ timestamp: String, by key: AuthenticationKeyPair = relay
  ) -> [String: String] {
    let signature = key.sign(Array("\(timestamp).\(body.utf8.count).\(body)".utf8))
    return ["X-Ed25519-Signature": signature.hex, "X-Ed25519-Timestamp": timestamp]
  }

  static func raw(_ text: String) -> String { #"{"topic":"t1","tag":4002,"message":"\#(text)"}"# }

  static func older(_ id: String, flags: Int = 1, _ blob: String) -> String {
    #"{"id":"\#(id)","payload":{"topic":"t1","flags":\#(flags),"blob":"\#(blob)"}}"#
  }

  /// Returns the pushes that wait: their kinds, addresses and contents.
  func waiting() async throws -> [(kind: PushKind, address: String, message: RelayedMessage?)] {
    try await store.read { snapshot in
      try snapshot.all("SELECT kind, address, content FROM push_outbox ORDER BY id") { row in
        let address: [UInt8] = try row[1]
        return (
          try row[0], String(decoding: address, as: UTF8.self),
          RelayedMessage(content: try row[2])
        )
      }
    }
  }

  func count(_ sql: StaticString) async throws -> Int {
    try await store.read { try $0.one(sql) { try $0[0] } ?? 0 }
  }

  /// Returns how many requests had an outcome.
  func requests(_ outcome: String) -> Int {
    let line = metrics.render().split(separator: "\n").first {
      $0.hasPrefix(#"awd_pushserver_requests_total{what="\#(outcome)"}"#)
    }
    return line.flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
  }
}

/// A wallet with its key, its identifier and an address.
struct Wallet: Sendable {
  let keys = AuthenticationKeyPair.generate()
  let token = "fcm-" + Hex.encode(SecureRandom.bytes(20))

  var id: String { Self.identifier([0xed, 0x01] + keys.publicKey.bytes) }

  /// Writes bytes as base58btc with its sign in front.
  static func identifier(_ bytes: [UInt8]) -> String {
    let signs = Array("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")
    var number = bytes
    var text = ""
    while number.contains(where: { $0 != 0 }) {
      var rest = 0
      for index in number.indices {
        let value = rest << 8 | Int(number[index])
        (number[index], rest) = (UInt8(value / 58), value % 58)
      }
      text = String(signs[rest]) + text
    }
    return "z" + String(repeating: "1", count: bytes.prefix { $0 == 0 }.count) + text
  }

  /// Signs a token, with some claims or parameters replaced, or left out.
  func jwt(
    at now: Timestamp, header: [String: Any?] = [:], claims: [String: Any?] = [:],
    by other: AuthenticationKeyPair? = nil
  ) -> String {
    var parts: [[String: Any]] = [
      ["typ": "JWT", "alg": "EdDSA"],
      [
        "iss": "did:key:\(id)", "sub": "anything", "aud": Fixture.url, "iat": now.seconds,
        "exp": now.seconds + 3600,
      ],
    ]
    for (name, value) in header { parts[0][name] = value }
    for (name, value) in claims { parts[1][name] = value }
    let text = parts.map { part in
      Base64URL.encode((try? JSONSerialization.data(withJSONObject: part)).map(Array.init) ?? [])
    }.joined(separator: ".")
    return text + "." + Base64URL.encode((other ?? keys).sign(Array(text.utf8)).bytes)
  }
}

/// A response with its body read.
struct Answer {
  let status: Int
  let fields: HeaderFields
  let body: String

  init(_ response: Response) {
    status = Int(response.status.code)
    fields = response.fields
    if case .array(let bytes) = response.body {
      body = String(decoding: bytes, as: UTF8.self)
    } else {
      body = ""
    }
  }

  static let success = #"{"status":"SUCCESS","errors":null,"fields":null}"#

  private var object: [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: Any] ?? [:]
  }

  /// The name of the first error of a failure, else nil.
  var failure: String? {
    guard object["status"] as? String == "FAILURE" else { return nil }
    let errors = object["errors"] as? [[String: String]]
    #expect(errors?.first?["message"]?.isEmpty == false)
    return errors?.first?["name"]
  }

  /// The faulty fields, each with its location.
  var places: [String] {
    (object["fields"] as? [[String: String]] ?? []).map { field in
      "\(field["field"] ?? "") \(field["location"] ?? "")"
    }
  }
}
