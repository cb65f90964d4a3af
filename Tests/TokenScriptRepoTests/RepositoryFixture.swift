internal import Configuration
internal import FoundationEssentials
internal import Glibc
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Routing
internal import ServiceKit
internal import Storage
internal import Platform
internal import TestSupport
internal import Formats

@testable import TokenScriptRepo

/// A repository in a temporary folder, which is removed with the fixture, and services over it.
final class RepositoryFixture: Sendable {
  private let temporary = TemporaryFolder()
  let time = Lock<Int64>(1_700_000_000)

  var folder: String { temporary.path }
  var root: String { "\(folder)/repository" }

  init() throws {
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
  }

  /// Writes a file and the folders above it, with a time in seconds since 1970.
  func write(_ path: String, _ text: String, modified: Int64 = 1_600_000_000) throws {
    try write(path, bytes: Array(text.utf8), modified: modified)
  }

  func write(_ path: String, bytes: [UInt8], modified: Int64 = 1_600_000_000) throws {
    try temporary.write("repository/\(path)", bytes)
    try touch(path, modified)
  }

  func touch(_ path: String, _ modified: Int64) throws {
    let times = [
      timespec(tv_sec: Int(modified), tv_nsec: 0), timespec(tv_sec: Int(modified), tv_nsec: 0),
    ]
    guard utimensat(AT_FDCWD, "\(root)/\(path)", times, 0) == 0 else { throw SystemError(errno) }
  }

  func remove(_ path: String) throws {
    try FileManager.default.removeItem(atPath: "\(root)/\(path)")
  }

  func move(_ path: String, to other: String) throws {
    try FileManager.default.moveItem(atPath: "\(root)/\(path)", toPath: "\(root)/\(other)")
  }

  func link(_ path: String, to target: String) throws {
    guard symlink(target, "\(root)/\(path)") == 0 else { throw SystemError(errno) }
  }

  func store() async throws -> Store {
    try await Store.open(
      .file("\(folder)/awd.sqlite3"), migrations: TokenScriptService.migrations)
  }

  /// Makes the section with the repository's path and further settings.
  func section(_ toml: String = "") throws -> ConfigurationSection {
    let text = "[tokenscript]\nrepository = \"\(root)\"\n\(toml)\n"
    let document = try ConfigurationDocument(parsing: Array(text.utf8), file: "/test.toml")
    return ConfigurationReader(document).section("tokenscript")
  }

  /// Makes the service as the program does.
  func server(
    _ toml: String = "", store: Store? = nil, publicURL: String? = nil, hosts: [String] = [],
    log: Log = Log(level: .error)
  ) async throws -> RepositoryServer {
    let section = try section(toml)
    var configuration = TokenScriptConfiguration(section)
    configuration.schemaProgram = nil
    let metrics = Metrics()
    let store = if let store { store } else { try await self.store() }
    let service = try await TokenScriptService(
      ServiceContext(
        store: store, log: log, metrics: metrics,
        clock: { [self] in Timestamp(seconds: time.withLock { $0 }) }, dataFolder: folder,
        publicURL: publicURL, hosts: hosts.compactMap { HostName($0) }), configuration)
    try section.finish()
    var router = Router(service: TokenScriptService.name)
    service.register(on: &router)
    return RepositoryServer(
      service: service, table: try RouteTable([router], log: Log(level: .error)),
      metrics: metrics)
  }
}

struct RepositoryServer {
  let service: TokenScriptService
  let table: RouteTable
  let metrics: Metrics

  func get(
    _ path: String, _ fields: [String: String] = [:], method: HTTPProtocol.Method = .get
  ) async throws -> Response {
    let head = try RequestHead(
      method: method, path: path, authority: "localhost",
      fields: fields.map { ($0.key, $0.value) })
    return await table.respond(to: Request(head: head, origin: RequestOrigin(peer: "127.0.0.1")))
  }
}

extension Response {
  var bytes: [UInt8] {
    switch body {
    case .none, .pieces: []
    case .array(let array): array
    case .bytes(let bytes): bytes.array
    }
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  subscript(_ name: FieldName) -> String? { fields.first(name) }
}

/// Returns a TokenScript as text.
func tokenScript(
  _ schema: String = "2019/05", root: String = "token",
  contracts: [(name: String, addresses: [(network: String, address: String)])],
  origins: [String], note: String = ""
) -> String {
  var text =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
    + "<ts:\(root) xmlns:ts=\"http://tokenscript.org/\(schema)/tokenscript\"><!--\(note)-->"
  for contract in contracts {
    text += "<ts:contract interface=\"erc20\" name=\"\(contract.name)\">"
    for (network, address) in contract.addresses {
      text += "<ts:address network=\"\(network)\">\(address)</ts:address>"
    }
    text += "</ts:contract>"
  }
  text += "<ts:origins>"
  for origin in origins { text += "<ts:ethereum contract=\"\(origin)\"/>" }
  return text + "</ts:origins></ts:\(root)>"
}

/// Returns a TokenScript with one contract, its origin.
func tokenScript(_ schema: String = "2019/05", for address: String, note: String = "") -> String {
  tokenScript(
    schema, contracts: [("Coin", [("1", address)])], origins: ["Coin"], note: note)
}

let alice = "0x6b175474e89094c44da98b954eedeac495271d0f"
let bob = "0x4f9254c83eb525f9fcf346490bbb3ed28a81c667"
