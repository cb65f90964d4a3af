internal import CommandLine
internal import Configuration
internal import Cryptography
internal import HTTPClient
internal import HTTPProtocol
internal import ServiceKit
internal import SystemCalls
internal import XMLSecurity

/// `awd repo schemas`: fetches the schemas of the official command-line tool.
struct RepositorySchemasCommand: Command {
  static let name = "repo schemas"
  static let summary = "Fetch the XML schemas of the official TokenScript tool"
  static let parameters: [CommandParameter] = [
    .configuration,
    .option("to", value: "DIR", "the folder to write to; by default schemas in the data folder"),
    .option("from", value: "URL", "the folder to fetch from; by default the tool's repository"),
  ]

  /// The tool's repository at release 1.2.3.
  private static let source =
    "https://raw.githubusercontent.com/SmartTokenLabs/tokenscript-cli/ef7e382/src/schema"

  /// The SHA-256 of each file. Its licence is its owners'; none comes with awd.
  private static let files = [
    "2020-06/asnx.xsd": "ae52414e4dfd314bf6abd69a1009e005ea92338005d6bc698c580f5f9ca508e6",
    "2020-06/data.xsd": "97dd34724f9edde80c18b4fdf3c2838bc875309e6c1262287c77e7d0354fec6b",
    "2020-06/ethereum.xsd": "c9dae17b213000b074617a25dd91ae0446f1149abb7227402d01359961d76aeb",
    "2020-06/tokenscript.xsd": "176595ad09e4a4384f7e6b301338a5a82c086415fc97e0e00dccb40ebcc7618f",
    "2022-09/asnx.xsd": "ae52414e4dfd314bf6abd69a1009e005ea92338005d6bc698c580f5f9ca508e6",
    "2022-09/data.xsd": "364134555974b951947cb560b849f5ef166148000304eaea491276b1419df136",
    "2022-09/ethereum.xsd": "febb7149c5fff6b466bfa97abeedc6ce059d6041977cfb8dcaceda671f17e3f9",
    "2022-09/tokenscript.xsd": "3dfeb01725efdb6050f8d14bad08b3232c29c15dd2e281c3781229ad9a54b637",
    "2024-01/asnx.xsd": "ae52414e4dfd314bf6abd69a1009e005ea92338005d6bc698c580f5f9ca508e6",
    "2024-01/data.xsd": "4bb6326c0c12d51980e048a33d3f9eed3b90313001ef8b5829b120e944c04848",
    "2024-01/ethereum.xsd": "b39b249e34034cbf85bd87f012eec91cb5bb0986da290e7298756ca5cb056254",
    "2024-01/tokenscript.xsd": "c46f868bba9e946c57d6346bf866a58f39f2ead86218352703c12eb14ab382b5",
    "common/xhtml1-strict.xsd": "1e2a1ebca8642fa4c5ac46c6ac2568212d87ac8eec270937fad9d76cbba64dd1",
    "common/xhtml5.xsd": "6f4e6cf584af18b6238d2bef6567ca8c8e85537df79d34d5677c83fa101fdff7",
    "common/xml.xsd": "080bdc0cf8982c3b3c55010f402ec0398ca30dc2c82bf7f9fee51c0b85fe2034",
    "common/xmldsig-core-schema.xsd":
      "00e997a40ca7893edaf779fe622be33efe2f55cb9cefd9fb31803ac4cb908f5a",
  ]

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let folder =
      if let to = arguments["to"] { to } else {
        try context.configuration(for: TokenScriptService.self).fetchedSchemas
      }
    guard let base = PublicURL(arguments["from"] ?? source) else {
      throw CommandError.usage("--from: expected a URL such as https://example.org/schema")
    }
    let exchange = try RepositoryExchange()
    var contents: [(path: String, bytes: [UInt8])] = []
    for (path, digest) in files.sorted(by: { $0.key < $1.key }) {
      let url = "\(base)/\(path)"
      let answer = try await exchange.send(OutgoingRequest(.get, url), expecting: .ok)
      guard SHA256.hash(answer.body).hex == digest else {
        throw CommandError.refused(
          "\(url): its SHA-256 is \(SHA256.hash(answer.body).hex), not \(digest)".printable)
      }
      contents.append((path, answer.body))
    }
    // Nothing is written before all are there, and each is replaced whole.
    do throws(SystemError) {
      for (path, bytes) in contents {
        try DurableFile.makeFolder(DurableFile.folder(of: "\(folder)/\(path)"))
        try DurableFile.replace("\(folder)/\(path)", bytes)
      }
    } catch { throw CommandError.refused("\(folder): \(error)".printable) }
    let validator = try SchemaValidator(folder: folder)
    context.print("\(folder): \(contents.count) schemas".printable)
    context.print("versions that compile: \(validator.versions.joined(separator: ", "))".printable)
    for problem in validator.problems { context.print("left out: \(problem)".printable) }
  }
}
