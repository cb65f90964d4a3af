internal import ApptimistProtocol
internal import Ethereum
internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import Observability
internal import TestSupport
internal import WalletClient

/// A folder with a configuration and data, and a port, for one server.
final class Site: Sendable {
  static let services = ["tokenscript", "msgr", "apptimist"]
  /// A contract of the demo that the server makes for itself.
  static let contract = "0x6b175474e89094c44da98b954eedeac495271d0f"
  static let namespace = "2020/03"

  private let temporary = TemporaryFolder()
  private let reserved: ReservedPort
  /// The database, if the store isn't a file.
  private let database: String?

  /// Makes an empty site.
  ///
  /// - Parameter isShared: whether the store stands on PostgreSQL.
  init(isShared: Bool = false) throws {
    reserved = try ReservedPort()
    database = isShared ? try PostgreSQLServer.shared.get().makeDatabase() : nil
    try configure()
  }

  deinit {
    if let database { try? PostgreSQLServer.shared.get().removeDatabase(database) }
  }

  var folder: String { temporary.path }
  var port: UInt16 { reserved.number }
  var configuration: String { "\(folder)/awd.toml" }
  var data: String { "\(folder)/data" }
  var url: String { "http://127.0.0.1:\(port)" }

  /// Writes the configuration.
  ///
  /// - Parameters:
  ///   - services: the services that are switched on.
  ///   - server: further lines of `[server]`.
  ///   - rest: further lines behind all sections.
  func configure(
    services: [String] = services, listen: String? = nil, server: String = "", rest: String = ""
  ) throws {
    let listen = listen ?? "127.0.0.1:\(port)"
    let list = services.map { "\"\($0)\"" }.joined(separator: ", ")
    let store = try database.map { database in
      "[store]\nurl = \"\(try PostgreSQLServer.shared.get().url(of: database))\"\n"
    }
    let text = """
      \(store ?? "")
      [server]
      listen = ["\(listen)"]
      services = [\(list)]
      data = "data"
      \(server)

      [msgr]
      push = "log"
      debug_pushes = true
      messages_per_minute = 1000000
      registrations_per_minute = 1000000
      registrations_per_day = 1000000
      inbox_messages = 100000
      password_memory = "8KiB"
      password_passes = 1

      [apptimist]
      refusal_min = "0s"
      refusal_max = "0s"
      \(rest)
      """
    try Data(text.utf8).write(to: URL(filePath: configuration))
  }

  /// Runs statements in the PostgreSQL database.
  func query(_ sql: String) throws {
    guard let database else { throw Unexpected("the store is a file") }
    try PostgreSQLServer.shared.get().query(sql, in: database)
  }

  /// Starts the server, and waits until it answers.
  func serve() async throws -> ChildProcess {
    let child = try ChildProcess.awd(["serve", "--config", configuration], home: folder)
    _ = try await child.line(with: "listening at=")
    return child
  }

  /// Runs another command on the site.
  func run(
    _ words: String..., input: String = ""
  ) async throws -> ChildProcess.Outcome {
    try await runAwd(words + ["--config", configuration], home: folder, input: input)
  }

  /// Starts the server as another user, where the start has to fail.
  func serve(as user: UInt32, _ group: UInt32) async throws -> ChildProcess.Outcome {
    try await ChildProcess.run(
      "setpriv",
      [
        "--reuid", "\(user)", "--regid", "\(group)", "--clear-groups",
        // The thread sanitizer's options name a file of this process, which another user may not open.
        "env", "--unset=TSAN_OPTIONS",
        try ChildProcess.built("awd"),
        "serve", "--config", configuration,
      ], home: folder)
  }

  /// Starts the server, runs a closure, and stops the server.
  func serving<Value>(_ body: (ChildProcess) async throws -> Value) async throws -> Value {
    let child = try await serve()
    let value = try await body(child)
    try await child.stop()
    return value
  }

  // MARK: - Clients

  /// Sends a request, and returns the status of the response.
  func status(_ method: HTTPProtocol.Method = .get, _ path: String) async throws -> UInt16 {
    try await WebClient().send(OutgoingRequest(method, url + path)).status.code
  }

  /// Sends a request that must be answered with 200, and returns the body.
  func get(_ path: String) async throws -> String {
    let answer = try await WebClient().send(OutgoingRequest(.get, url + path))
    guard answer.status == .ok else { throw Unexpected("\(path): \(answer.status.code)") }
    return String(decoding: answer.body, as: UTF8.self)
  }

  /// Fetches a contract's TokenScript, as a wallet does.
  func fetch(
    _ contract: String = contract, cache: String = "cache", network: ChainID = .main
  ) async throws -> TokenScriptReport {
    let agent = try TokenScriptAgent(
      repository: url, cache: "\(folder)/\(cache)", log: Log(level: .error, descriptor: -1))
    return try await agent.fetch(
      TokenScriptRequest(
        address: contract, network: network,
        namespaces: [Self.namespace].compactMap { TokenScriptNamespace($0) }))
  }

  /// Makes an account of Msgr, or logs in to it.
  func msgr(_ name: String, device: String? = nil, isNew: Bool = true) async throws -> MsgrSession {
    let server = try MsgrServer(url)
    let device = device ?? "stream:\(name)-0001"
    return isNew
      ? try await server.register(name, password: "a password", device: device)
      : try await server.login(name, password: "a password", device: device)
  }

  var siren: WebSocketURL {
    get throws {
      guard let url = WebSocketURL("ws://127.0.0.1:\(port)/siren") else {
        throw Unexpected("no URL")
      }
      return url
    }
  }

  func identity() async throws -> ServiceIdentity {
    try await ServicePin.fetch(from: siren, client: WebClient()).identity
  }

  /// Runs a device of Apptimist. With a name, it makes an account.
  func device(
    _ name: String?, keys: DeviceKeys = .generate(), cursor: DeviceCursor = DeviceCursor(),
    versions: ServicePin.Versions = .version2
  ) async throws -> Phone {
    try await Phone(
      name, keys: keys, cursor: cursor, service: ServicePin(identity(), versions: versions),
      url: siren)
  }
}

/// A failed expectation.
struct Unexpected: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// Runs `awd` to its end.
func runAwd(
  _ words: [String], home: String, environment: [String: String] = [:], input: String = ""
) async throws -> ChildProcess.Outcome {
  try await ChildProcess.awd(words, home: home, environment: environment, input: input).outcome()
}

extension ChildProcess {
  /// Stops the server with SIGTERM.
  ///
  /// - Throws: ``Unexpected`` unless it exits with 0.
  func stop() async throws {
    signal(SIGTERM)
    let ending = try await ended()
    guard ending == .exited(0) else { throw Unexpected("\(ending)\n\(errors)") }
  }
}
