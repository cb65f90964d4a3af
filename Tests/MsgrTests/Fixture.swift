internal import Cluster
internal import Configuration
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Push
internal import Routing
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform
internal import Formats

@testable import Msgr

/// The service over a database of its own, with passwords that cost next to nothing.
struct Fixture: Sendable {
  static let cheap = "password_memory = \"8KiB\"\npassword_passes = 1\n"

  let clock = TestClock()
  let folder: TemporaryFolder
  let service: MsgrService
  let store: Store
  let table: RouteTable
  private let description = Description()
  let bus: any Bus
  let node = NodeID.random()

  init(
    _ configuration: String = "", log: Log = Log(level: .error, descriptor: -1),
    metrics: Metrics = Metrics(), in folder: TemporaryFolder = TemporaryFolder(),
    on location: StoreLocation? = nil, polls: Bool = false, publicURL: String? = nil
  ) async throws {
    self.folder = folder
    store = try await Store.open(
      location ?? TestStore.location("\(folder.path)/awd.sqlite3"),
      migrations: MsgrService.migrations)
    let registry = NodeRegistry(node, named: "test", version: "1", in: store)
    if store.isShared { try await registry.sendHeartbeat() }
    if case .postgreSQL(let address) = location {
      bus =
        polls
        ? PollingBus(every: .milliseconds(100))
        : try await PostgreSQLBus(
          address, seal: registry.seal(clock: Timestamp.now), poll: .seconds(2), log: log)
    } else {
      bus = NoBus()
    }
    let defaults = [
      "password_memory": Self.cheap, "push = ": "push = \"log\"\n",
      "registrations_per_minute": "registrations_per_minute = 1000\n",
      "minimum_password": "minimum_password = 1\n",
    ].filter { !configuration.contains($0.key) }
    let toml = "[msgr]\n\(defaults.values.joined())\(configuration)"
    let reader = ConfigurationReader(
      try ConfigurationDocument(parsing: Array(toml.utf8), file: "\(folder.path)/awd.toml")
        .renaming(PushConfiguration.formerNames))
    let section = reader.section("msgr")
    let configuration = MsgrConfiguration(section)
    try section.finish()
    service = try await MsgrService(
      ServiceContext(
        store: store,
        pushes: Pushes(
          PushConfiguration(reader.section("push")), store: store, log: log, metrics: metrics,
          clock: { [clock] in clock.now }), bus: bus, node: node, log: log, metrics: metrics,
        clock: { [clock] in clock.now },
        dataFolder: folder.path, publicURL: publicURL), configuration)
    var router = Router(service: MsgrService.name)
    service.register(on: &router)
    table = try RouteTable([router] + service.dialectRouters(), log: log)
  }

  /// Makes a request, and checks the response against the service's own description.
  func request(
    _ method: HTTPProtocol.Method, _ path: String, body: [UInt8] = [],
    fields: [(name: String, value: String)] = [], from peer: String = "127.0.0.1",
    isDialect: Bool = false
  ) async throws -> TestResponse {
    var fields = fields
    if !body.isEmpty { fields.append(("Content-Length", "\(body.count)")) }
    let head = try RequestHead(method: method, path: path, authority: "h", fields: fields)
    var whole = await table.respond(
      to: Request(head: head, body: body, origin: RequestOrigin(peer: peer)))
    if case .pieces(let pieces) = whole.body {
      whole.body = .array(try await pieces.reduce(into: []) { $0 += $1 })
    }
    let response = TestResponse(whole)
    if method == .post, !isDialect { try description.check(response, to: path) }
    return response
  }

  /// Posts a JSON object as the clients of 2011 do: with the content type of a form.
  func post(
    _ path: String, _ fields: [String: Any], token: String? = nil, from peer: String = "127.0.0.1"
  ) async throws -> TestResponse {
    let body = try JSONSerialization.data(withJSONObject: fields)
    return try await request(
      .post, path, body: Array(body),
      fields: [("Content-Type", "application/x-www-form-urlencoded")]
        + (token.map { [("Authorization", "Bearer \($0)")] } ?? []),
      from: peer)
  }

  /// Posts a text, whatever it is.
  func post(_ path: String, raw body: String, type: String = "application/json") async throws
    -> TestResponse
  {
    try await request(.post, path, body: Array(body.utf8), fields: [("Content-Type", type)])
  }

  /// Makes an account with a device of its own, and the password `pw`.
  ///
  /// - Returns: the token.
  @discardableResult
  func register(_ name: String, device: String? = nil) async throws -> String {
    let response = try await post(
      "/register", ["Username": name, "Password": "pw", "DeviceID": device ?? Self.device(name)])
    #expect(response.status == 200)
    return try #require(response.object["Token"] as? String)
  }

  /// Sends a message from an account with the password `pw`.
  @discardableResult
  func send(
    _ text: String, from: String, to: String, as clientID: String? = nil
  ) async throws -> TestResponse {
    var fields = ["UserFrom": from, "Password": "pw", "UserTo": to, "Message": text]
    fields["ClientId"] = clientID
    return try await post("/message", fields)
  }

  /// Binds another device to an account with the password `pw`.
  ///
  /// - Returns: the token.
  func login(_ name: String, device: String, as deviceName: String? = nil) async throws -> String {
    var fields = ["Username": name, "Password": "pw", "DeviceID": device]
    fields["DeviceName"] = deviceName
    return try #require(try await post("/login", fields).object["Token"] as? String)
  }

  /// Returns the inbox of an account with the password `pw`.
  func inbox(_ name: String, since: String? = nil) async throws -> [[String: Any]] {
    var fields = ["Username": name, "Password": "pw"]
    fields["Since"] = since
    return try await post("/inbox", fields).array.compactMap { $0 as? [String: Any] }
  }

  func texts(_ name: String, since: String? = nil) async throws -> [String] {
    try await inbox(name, since: since).compactMap { $0["Message"] as? String }
  }

  /// A push token made of a name.
  static func device(_ name: String) -> String {
    let digits = name.utf8.map { String($0, radix: 16) }.joined()
    return String((digits + String(repeating: "0", count: 64)).prefix(64))
  }
}

/// A response with its body read.
struct TestResponse: Sendable {
  let status: Int
  let fields: HeaderFields
  let bytes: [UInt8]

  init(_ response: Response) {
    status = Int(response.status.code)
    fields = response.fields
    bytes =
      switch response.body {
      case .none, .pieces: []
      case .array(let array): array
      case .bytes(let bytes): bytes.array
      }
  }

  var json: Any? {
    try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
  }
  var object: [String: Any] { json as? [String: Any] ?? [:] }
  var array: [Any] { json as? [Any] ?? [] }
  var field: String? { object["field"] as? String }
  var id: String? { object["Id"] as? String }
}
