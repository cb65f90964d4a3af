internal import Configuration
internal import Ethereum
internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Routing
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Platform
internal import TokenScriptRepo
internal import WalletClient
internal import XMLSecurity

let alice = "0x6b175474e89094c44da98b954eedeac495271d0f"
let bob = "0x4f9254c83eb525f9fcf346490bbb3ed28a81c667"
let may = namespace("2019/05")
let april = namespace("2019/04")

func namespace(_ text: String) -> TokenScriptNamespace {
  guard let namespace = TokenScriptNamespace(text) else { preconditionFailure(text) }
  return namespace
}

extension TemporaryFolder {
  func write(_ name: String, _ bytes: [UInt8], modified: Int64) throws {
    try write(name, bytes)
    try touch(name, modified)
  }

  func touch(_ name: String, _ modified: Int64) throws {
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: Double(modified))],
      ofItemAtPath: "\(path)/\(name)")
  }

  func bytes(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: "\(path)/\(name)").map(Array.init)
  }

  func modified(_ name: String) throws -> Int64 {
    let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
    return Int64((attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? -1)
  }

  /// The paths of all files below, including hidden ones.
  var files: [String] {
    let found = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
    return found.filter { name in
      // The records of where files were downloaded.
      if name.hasSuffix(".location") { return false }
      var isFolder = ObjCBool(false)
      return FileManager.default.fileExists(atPath: "\(path)/\(name)", isDirectory: &isFolder)
        && !isFolder.boolValue
    }.sorted()
  }
}

/// A TokenScript whose origin is the contract, on network 1 unless said otherwise.
func tokenScript(
  _ schema: String = "2019/05", for address: String = alice, network: String? = "1",
  origin: String = "Coin", root: String = "token", note: String = ""
) -> String {
  let attribute = network.map { " network=\"\($0)\"" } ?? ""
  return """
    <?xml version="1.0" encoding="UTF-8"?>
    <ts:\(root) xmlns:ts="http://tokenscript.org/\(schema)/tokenscript"><!--\(note)-->\
    <ts:contract interface="erc20" name="Coin">\
    <ts:address\(attribute)>\(address)</ts:address></ts:contract>\
    <ts:contract interface="erc20" name="Other">\
    <ts:address network="1">\(bob)</ts:address></ts:contract>\
    <ts:origins><ts:ethereum contract="\(origin)"/></ts:origins></ts:\(root)>
    """
}

/// A TokenScript repository over sockets, as the program serves it.
struct Repository: Sendable {
  let files: TemporaryFolder
  let service: TokenScriptService
  let url: String

  func reload() async throws { try await service.reload() }
}

/// Runs a repository over a folder for the time of a closure, and drains it.
func withRepository(
  _ toml: String = "", _ files: TemporaryFolder, _ body: (Repository) async throws -> Void
) async throws {
  let data = TemporaryFolder()
  let text = "[tokenscript]\nrepository = \"\(files.path)\"\n\(toml)\n"
  let document = try ConfigurationDocument(parsing: Array(text.utf8), file: "/test.toml")
  let store = try await Store.open(
    .file("\(data.path)/awd.sqlite3"), migrations: TokenScriptService.migrations)
  let log = Log(level: .error)
  let service = try await TokenScriptService(
    ServiceContext(
      store: store, log: log, dataFolder: data.path,
      hosts: ["127.0.0.1"].compactMap { HostName($0) }),
    TokenScriptConfiguration(ConfigurationReader(document).section("tokenscript")))
  var router = Router(service: TokenScriptService.name)
  service.register(on: &router)
  try await withServer(try RouteTable([router], log: log)) { url in
    try await body(Repository(files: files, service: service, url: url))
  }
}

/// A responder that calls a closure, and records the requests.
final class ScriptedResponder: Responder {
  private let heads = Lock<[RequestHead]>([])
  private let body: @Sendable (String, RequestHead) -> Response

  init(_ body: @escaping @Sendable (String, RequestHead) -> Response) { self.body = body }

  var requests: [RequestHead] { heads.withLock { $0 } }

  /// The response to a request, which isn't recorded.
  func respond(_ path: String, _ head: RequestHead) -> Response { body(path, head) }

  func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
    heads.withLock { $0.append(head) }
    let response = body(String(decoding: head.path, as: UTF8.self), head)
    return .respond(bodyLimit: 1 << 16) { _ in response }
  }
}

extension Response {
  /// Makes a response with a file, as a repository serves it.
  static func file(_ bytes: [UInt8], modified: String? = nil) -> Response {
    var response = Response(.ok, body: .array(bytes))
    if let modified { response.fields.append(.lastModified, modified) }
    return response
  }
}

/// Makes an agent that logs no rejections.
func agent(
  _ url: String, _ cache: TemporaryFolder, roots: TrustStore? = nil,
  contracts: ContractScripts? = nil, timeout: Duration = .seconds(30)
) throws -> TokenScriptAgent {
  var options = HTTPClientOptions()
  options.timeout = timeout
  return try TokenScriptAgent(
    repository: url, cache: cache.path, roots: roots, contracts: contracts, options: options,
    log: Log(level: .error))
}

func request(
  _ address: String = alice, network: ChainID = .main,
  in namespaces: [TokenScriptNamespace] = [may],
  signer: String? = nil
) throws -> TokenScriptRequest {
  try TokenScriptRequest(
    address: address, network: network, namespaces: namespaces, signer: signer)
}
