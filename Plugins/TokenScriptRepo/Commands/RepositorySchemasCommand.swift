internal import TokenScriptRepoResources
internal import Configuration
internal import Cryptography
internal import HTTPClient
internal import HTTPProtocol
internal import ServiceKit
internal import Platform
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

  /// The SHA-256 and the path of each file. Its licence is its owners'; none comes with awd.
  private static let files = String(
    decoding: Resource(tokenscript_schemas_sha256()).bytes, as: UTF8.self
  )
  .split(separator: "\n").map { $0.split(separator: " ").map(String.init) }

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
    for line in files {
      let digest = line[0]
      let path = line[1]
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
