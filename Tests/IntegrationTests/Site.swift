internal import ApptimistProtocol
internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import Observability
internal import WalletClient

/// A folder with a configuration and data, and a port, for one server.
final class Site: Sendable {
  static let services = ["tokenscript", "msgr", "apptimist"]
  /// A contract of the demo that the server makes for itself.
  static let contract = "0x6b175474e89094c44da98b954eedeac495271d0f"
  static let namespace = "2020/03"

  let folder: String
  let port: UInt16
  /// A socket that is bound to the port and doesn't listen, so that the system gives the port to nobody else between
  /// two starts of the server.
  private let keeper: Int32

  /// Makes an empty site.
  init() throws {
    folder = NSTemporaryDirectory() + "awd-integration-\(UUID().uuidString)"
    (keeper, port) = try Self.keptPort()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try configure()
  }

  deinit {
    close(keeper)
    try? FileManager.default.removeItem(atPath: folder)
  }

  var configuration: String { "\(folder)/awd.toml" }
  var data: String { "\(folder)/data" }
  var url: String { "http://127.0.0.1:\(port)" }

  private static func keptPort() throws -> (keeper: Int32, port: UInt16) {
    let keeper = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    // The server's socket allows it too, and so can share the port.
    var on: Int32 = 1
    setsockopt(keeper, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(keeper, $0, length) == 0 && getsockname(keeper, $0, &length) == 0
      }
    }
    guard isBound else { throw Unexpected("no port: \(errno)") }
    return (keeper, UInt16(bigEndian: address.sin_port))
  }

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
    let text = """
      [server]
      listen = ["\(listen)"]
      services = [\(list)]
      data = "data"
      \(server)

      [msgr]
      push = "log"
      debug_pushes = true
      messages_per_minute = 1000000
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

  /// Starts the server, and waits until it answers.
  func serve() async throws -> Child {
    let child = try Child(["serve", "--config", configuration], home: folder)
    _ = try await child.line(with: "listening at=")
    return child
  }

  /// Runs another command on the site.
  func run(
    _ words: String..., input: String = ""
  ) async throws -> (code: Int32, output: String, errors: String) {
    try await Child.run(words + ["--config", configuration], home: folder, input: input)
  }

  /// Starts the server, runs a closure, and stops the server.
  func serving<Value>(_ body: (Child) async throws -> Value) async throws -> Value {
    let child = try await serve()
    let value = try await body(child)
    try await child.stop()
    return value
  }

  // MARK: - Clients

  /// Sends a request, and returns the status of the response.
  func status(_ method: HTTPProtocol.Method = .get, _ path: String) async throws -> UInt16 {
    try await HTTPClient().send(OutgoingRequest(method, url + path)).status.code
  }

  /// Sends a request that must be answered with 200, and returns the body.
  func get(_ path: String) async throws -> String {
    let answer = try await HTTPClient().send(OutgoingRequest(.get, url + path))
    guard answer.status == .ok else { throw Unexpected("\(path): \(answer.status.code)") }
    return String(decoding: answer.body, as: UTF8.self)
  }

  /// Fetches a contract's TokenScript, as a wallet does.
  func fetch(
    _ contract: String = contract, cache: String = "cache", network: UInt64 = 1
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
      ? try await server.register(name, password: "pw", device: device)
      : try await server.login(name, password: "pw", device: device)
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
    try await ServiceIdentity.fetch(from: siren, client: HTTPClient())
  }

  /// Runs a device of Apptimist. With a name, it makes an account.
  func device(
    _ name: String?, keys: DeviceKeys = .generate(), head: MessageID? = nil
  ) async throws -> Phone {
    try await Phone(
      name, keys: keys, head: head, service: identity(), url: siren)
  }
}

/// A failed expectation.
struct Unexpected: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

extension Child {
  /// Stops the server, which must exit with 0 in time.
  func stop() async throws {
    signal(SIGTERM)
    let ending = try await ended()
    guard ending == .exited(0) else { throw Unexpected("\(ending)\n\(errors)") }
  }
}
