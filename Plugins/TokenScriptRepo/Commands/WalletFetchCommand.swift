internal import Configuration
internal import Ethereum
internal import Glibc
internal import Observability
internal import ServiceKit
internal import WalletClient
internal import XMLSecurity

/// `awd wallet fetch`: downloads or updates the TokenScript of a contract as a wallet does.
struct WalletFetchCommand: Command {
  static let name = "wallet fetch"
  static let summary = "Download or update the TokenScript of a contract, as a wallet does"
  static let parameters: [CommandParameter] = [
    .option(
      "network", value: "ID",
      "the number of the chain, such as 1 for Ethereum's main network (required)"),
    .option("cache", value: "DIR", "the folder for the files, DIR/ID/ADDRESS.xml (required)"),
    .option("repo", value: "URL", "the repository (required)"),
    .option(
      "namespace", value: "YYYY/MM",
      "a namespace that the wallet supports; may be repeated, the preferred one first"),
    .option("signer", value: "NAME", "the signer of the file: the name in a certificate, or a key"),
    .option(
      "rpc", value: "URL",
      "the chain's endpoint for JSON-RPC; the places that the contract names are then asked first"),
    .option("gateway", value: "URL", "the gateway for places of the form ipfs://…"),
    .option(
      "schemas", value: "DIR",
      "the folder of the schemas; a file that its schema refuses is not taken"),
    .flag("report", "tell the repository of its files that are not taken"),
    .option("client", value: "NAME/VERSION", "the wallet's name for the repository"),
    .option("platform", value: "NAME/VERSION", "the wallet's platform: iOS/… or Android/…"),
    .json, .operand("ADDRESS", "the contract: 0x and 40 hexadecimal digits"),
  ]

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let text = try await fetch(request(arguments), arguments)
    try context.print(json: text.json) { for line in text.lines { context.print(line) } }
    if let refusal = text.refusal { throw CommandError.refused(refusal) }
  }

  /// Fetches the file of a contract, as the arguments say.
  static func fetch(
    _ request: TokenScriptRequest, _ arguments: CommandArguments
  ) async throws -> WalletFetchText {
    let cache = try arguments.required("cache")
    guard let repository = try repository(arguments) else {
      throw CommandError.usage("--repo is missing")
    }
    let identity = try identity(arguments)
    let contracts = try contracts(arguments)
    let schemaCheck = try arguments["schemas"].map(schemaCheck)
    let log = Log(level: .warning)
    defer { log.flush() }
    let agent = try TokenScriptAgent(
      repository: "\(repository)", cache: cache, identity: identity,
      // A system without roots trusts nobody.
      roots: try? TrustStore(), contracts: contracts, schemaCheck: schemaCheck,
      reportsRejections: arguments.has("report"), log: log)
    return WalletFetchText(request, try await agent.fetch(request))
  }

  /// Returns the URL of the option `--repo`, or nil without it.
  static func repository(_ arguments: CommandArguments) throws(CommandError) -> PublicURL? {
    try arguments.url("repo", such: "https://repo.tokenscript.org")
  }

  /// Makes the check against the schemas of a folder, in a process that is ended if a file keeps it busy for too long.
  private static func schemaCheck(
    _ folder: String
  ) throws(CommandError) -> TokenScriptAgent.SchemaCheck {
    guard unsafe access(folder, R_OK | X_OK) == 0 else {
      throw .usage("--schemas: the folder \(folder) can’t be read")
    }
    let workers = SchemaWorkers(program: "/proc/self/exe", schemas: folder, cpuTime: .seconds(2))
    return { file, version in
      guard let document = try? XMLDocument(parsing: file),
        let version = SchemaVersion(version.path)
      else { return nil }
      let finding = workers.finding(for: document, of: file, version)
      guard case .failed(let refusal) = finding, finding != .missingSchema(version) else {
        return nil
      }
      return refusal.words
    }
  }

  private static func request(
    _ arguments: CommandArguments
  ) throws(CommandError) -> TokenScriptRequest {
    guard let network = try arguments.chain("network") else { throw .usage("--network is missing") }
    var namespaces: [TokenScriptNamespace] = []
    for text in arguments.all("namespace") {
      guard let namespace = TokenScriptNamespace(text) else {
        throw .usage("--namespace: expected a year and a month such as 2019/05")
      }
      namespaces.append(namespace)
    }
    do throws(TokenScriptRequest.AddressError) {
      return try TokenScriptRequest(
        address: arguments.operands[0], network: network, namespaces: namespaces,
        signer: arguments["signer"])
    } catch { throw .usage("ADDRESS: expected 0x and 40 hexadecimal digits") }
  }

  private static func contracts(
    _ arguments: CommandArguments
  ) throws(CommandError) -> ContractScripts? {
    for option in ["rpc", "gateway"] {
      guard let url = arguments[option] else { continue }
      guard ["http://", "https://"].contains(where: url.hasPrefix) else {
        throw .usage("--\(option): expected a URL such as https://host.example")
      }
    }
    return arguments["rpc"].map { ContractScripts(endpoint: $0, gateway: arguments["gateway"]) }
  }

  private static func identity(
    _ arguments: CommandArguments
  ) throws(CommandError) -> WalletIdentity {
    var identity = WalletIdentity(name: Product.name, version: Product.version)
    if let text = arguments["client"] {
      guard let (name, version) = halves(text) else {
        throw .usage("--client: expected NAME/VERSION, such as AlphaWallet/1.0.3")
      }
      (identity.name, identity.version) = (name, version)
    }
    if let text = arguments["platform"] {
      guard let (name, version) = halves(text),
        let platform = WalletIdentity.Platform(rawValue: name)
      else { throw .usage("--platform: expected iOS/VERSION or Android/VERSION") }
      (identity.platform, identity.platformVersion) = (platform, version)
    }
    return identity
  }

  private static func halves(_ text: String) -> (String, String)? {
    let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
    return parts.count == 2 ? (parts[0], parts[1]) : nil
  }
}
