internal import Configuration
internal import Ethereum
internal import Glibc
internal import HTTPProtocol
internal import Observability
internal import ServiceKit
internal import WalletClient
internal import XMLSecurity

/// `awd wallet fetch`: downloads or updates the TokenScript of a contract as a wallet does.
struct WalletFetchCommand: Command {
  static let name = "wallet fetch"
  static let summary = "Download or update the TokenScript of a contract, as a wallet does"
  static let parameters: [CommandParameter] =
    [
      .option(
        "network", value: "ID",
        "the number of the chain, such as 1 for Ethereum's main network (required)"),
      .option("cache", value: "DIR", "the folder for the files, DIR/ID/ADDRESS.xml (required)"),
      .option("repo", value: "URL", "the repository (required)"),
    ] + choices + [.json, .operand("ADDRESS", "the contract: 0x and 40 hexadecimal digits")]

  /// The parameters of everything that fetches.
  static let choices: [CommandParameter] = [
    .option(
      "namespace", value: "YYYY/MM",
      "a namespace that the wallet supports; may be repeated, the preferred one first"),
    .option("signer", value: "NAME", "the signer of the file: the name in a certificate, or a key"),
    .option(
      "rpc", value: "URL",
      "the chain's endpoint for JSON-RPC; the URLs that the contract names are then tried first"),
    .option("gateway", value: "URL", "the gateway for URLs of the form ipfs://…"),
    .option(
      "schemas", value: "DIR",
      "the folder of the schemas; a file that its schema refuses is rejected"),
    .flag("report", "report rejected files to the repository"),
    .option("client", value: "NAME/VERSION", "the wallet's name for the repository"),
    .option("platform", value: "NAME/VERSION", "the wallet's platform: iOS/… or Android/…"),
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
    let namespaces = try namespaces(arguments)
    do throws(TokenScriptRequest.AddressError) {
      return try TokenScriptRequest(
        address: arguments.operands[0], network: network, namespaces: namespaces,
        signer: arguments["signer"])
    } catch { throw .usage("ADDRESS: expected 0x and 40 hexadecimal digits") }
  }

  /// Returns the versions that the options `--namespace` name.
  static func namespaces(
    _ arguments: CommandArguments
  ) throws(CommandError) -> [TokenScriptNamespace] {
    var namespaces: [TokenScriptNamespace] = []
    for text in arguments.all("namespace") {
      guard let namespace = TokenScriptNamespace(text) else {
        throw .usage("--namespace: expected a year and a month such as 2019/05")
      }
      namespaces.append(namespace)
    }
    return namespaces
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
      identity.name = name
      identity.version = version
    }
    if let text = arguments["platform"] {
      guard let (name, version) = halves(text),
        let platform = WalletIdentity.Platform(rawValue: name)
      else { throw .usage("--platform: expected iOS/VERSION or Android/VERSION") }
      identity.platform = platform
      identity.platformVersion = version
    }
    return identity
  }

  private static func halves(_ text: String) -> (String, String)? {
    let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
    return parts.count == 2 ? (parts[0], parts[1]) : nil
  }
}

/// The output of `awd wallet fetch` for a report.
struct WalletFetchText {
  /// The lines for people, or none if there is only a refusal.
  private(set) var lines: [String] = []
  /// The reason why there is no trustworthy file, for people, or nil if there is one.
  private(set) var refusal: String?
  /// The output for programs: the result is `stored`, `updated`, `unchanged`, `own`, `choices`, `unreadable`, `absent`,
  /// `gone`, `invalid` or `failed`.
  private(set) var json: JSONObject

  init(_ request: TokenScriptRequest, _ report: TokenScriptReport) {
    let attempts = report.attempts.map { attempt in
      ([
        "namespace": attempt.namespace?.path, "uri": attempt.uri, "result": attempt.result,
        "rejected": attempt.rejection?.code.rawValue,
      ] as JSONObject).withoutNulls
    }
    json =
      ([
        "contract": request.address.checksummed, "network": request.network.number,
        "path": report.path, "cached": report.hasFile, "source": report.source,
        "proof": report.proof?.rawValue,
        "attempts": attempts,
      ] as JSONObject).withoutNulls
    switch report.outcome {
    case .stored(let script, let modified, let isUpdate):
      let result = isUpdate ? "updated" : "stored"
      json.values["result"] = result
      describe(script, result, modified, report)
      lines += report.attempts.filter { $0.rejection != nil && $0.uri == nil }.map {
        "  \(Self.words($0))"
      }
    case .unchanged:
      json.values["result"] = "unchanged"
      lines = ["unchanged \(report.path): \(Self.place(report)) has nothing newer"]
    case .ownFile(let repository):
      json.values["result"] = "own"
      json.values["modified"] = repository.text
      lines = [
        "kept \(report.path): newer than that of \(repository.text) at \(Self.place(report)), "
          + "so it is kept as its author's own"
      ]
    case .choices(let choices):
      json.values["result"] = "choices"
      list(choices)
      refuse("several signers have published a file; choose one by --signer", report)
    case .unreadable:
      json.values["result"] = "unreadable"
      let words = "the repository has no version that this wallet reads"
      if report.hasFile { lines = ["kept \(report.path): \(words)"] } else { refusal = words }
    case .absent(let isGone):
      json.values["result"] = isGone ? "gone" : "absent"
      let whose = request.signer.map { " of \($0)".printable } ?? ""
      refuse(
        isGone
          ? "the repository's file\(whose) is gone" : "the repository has no file\(whose) for it",
        report)
    case .invalid:
      json.values["result"] = "invalid"
      let attempts = report.attempts.map { "\n  \(Self.words($0))" }
      refuse("no file of the repository is valid", report, details: attempts.joined())
    case .failed(let reason):
      json.values["result"] = "failed"
      refuse(reason.printable, report)
    }
    // The author of the contract's URIs needs to see each that couldn't be used.
    let unused = report.attempts.filter { $0.uri != nil && $0.uri != report.source }
    for attempt in unused where refusal == nil || report.outcome != .invalid {
      let line = "  contract   \(attempt.uri ?? ""): \(attempt.result)".printable
      if refusal == nil { lines.append(line) } else { refusal?.append("\n\(line)") }
    }
  }

  private mutating func describe(
    _ script: SignedTokenScript, _ result: String, _ modified: HTTPDate,
    _ report: TokenScriptReport
  ) {
    json.values["namespace"] = script.namespace.path
    if let signer = script.signer { json.values["signer"] = signer }
    json.values["key"] = script.key
    json.values["modified"] = modified.text
    let trust: String
    switch script.trust {
    case _ where report.proof == .digest:
      trust = "set by the contract itself"
      json.values["trusted"] = true
    case .trusted:
      trust = "its certificate is trusted"
      json.values["trusted"] = true
    case .untrusted(let reason):
      trust = "not trusted: \(reason)"
      json.values["trusted"] = false
    case .unchecked: trust = "its certificate was not checked"
    }
    let signer = "\(script.signer ?? script.key) (\(trust))"
    lines = [
      "\(result) \(report.path)", "  namespace  \(script.namespace)",
      "  signer     \(signer.printable)", "  key        \(script.key)",
      "  modified   \(modified.text)",
    ]
    if let source = report.source { lines.append("  source     \(source.printable)") }
    switch report.proof {
    case .digest: lines.append("  proof      the contract's URI has the digest of these bytes")
    case .signature:
      lines.append("  proof      the signature holds; the contract's URI has no digest of the file")
    case nil: break
    }
  }

  private static func place(_ report: TokenScriptReport) -> String {
    report.source?.printable ?? "the repository"
  }

  private static func words(_ attempt: TokenScriptReport.Attempt) -> String {
    let place = attempt.uri ?? attempt.namespace?.path
    return "\(place.map { "\($0): " } ?? "")\(attempt.result)".printable
  }

  private mutating func list(_ choices: [TokenScriptChoice]) {
    json.values["choices"] = choices
    lines = choices.map { choice in
      let title = choice.title.flatMap { $0 == choice.signer ? nil : "  \($0)" } ?? ""
      let modified = choice.modified.map { "  \($0)" } ?? ""
      return "--signer \((choice.signer ?? choice.url).quotedForShell)\(title)\(modified)".printable
    }
  }

  private mutating func refuse(
    _ reason: String, _ report: TokenScriptReport, details: String = ""
  ) {
    refusal = reason + (report.hasFile ? "; the local file stays" : "") + details
  }
}

/// `awd wallet open`: shows what a link or the text of a QR code names, and fetches it from the repository.
struct WalletOpenCommand: Command {
  static let name = "wallet open"
  static let summary = "Show which contract a link or QR text names, and fetch its TokenScript"
  static let parameters: [CommandParameter] =
    [
      .option("network", value: "ID", "the chain of a link that names none"),
      .option(
        "repo", value: "URL",
        "the repository, whose files links may name; no other server is contacted"
      ),
      .option(
        "cache", value: "DIR", "fetch the file from --repo into this folder, DIR/ID/ADDRESS.xml"),
    ] + WalletFetchCommand.choices + [
      .json,
      .operand(
        "LINK", "a link of AlphaWallet or the viewer, ethereum:…, an address, a URL of --repo"),
    ]

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let repository = try WalletFetchCommand.repository(arguments)
    let network = try arguments.chain("network")
    let namespaces = try WalletFetchCommand.namespaces(arguments)
    guard repository != nil || arguments["cache"] == nil else {
      throw CommandError.usage("--repo is missing")
    }
    let link: TokenLink
    do throws(TokenLink.Refusal) {
      link = try TokenLink(arguments.operands[0], repository: repository?.description)
    } catch { throw CommandError.usage("LINK: \(error)".printable) }
    let chain = link.chain ?? network
    var fetched: WalletFetchText?
    if arguments["cache"] != nil {
      guard let chain else {
        throw CommandError.usage("LINK: it names no chain; --network is missing")
      }
      let request = try TokenScriptRequest(
        address: link.contract.checksummed, network: chain,
        namespaces: link.namespace.map { [$0] } ?? namespaces,
        signer: link.signer ?? arguments["signer"])
      fetched = try await WalletFetchCommand.fetch(request, arguments)
    }
    var json: JSONObject = [
      "kind": link.kind.rawValue, "chain": chain?.number, "contract": link.contract.checksummed,
      "tokenIds": link.tokenIDs, "scriptId": link.scriptID, "card": link.card,
      "originId": link.originID, "url": link.url,
    ]
    if let fetched { json.values["fetch"] = fetched.json }
    try context.print(json: json) {
      let facts: [(String, String?)] = [
        ("kind", link.kind.rawValue), ("chain", chain?.title),
        ("contract", link.contract.checksummed),
        ("tokens", link.tokenIDs.isEmpty ? nil : link.tokenIDs.joined(separator: ", ")),
        ("script", link.scriptID), ("card", link.card), ("origin", link.originID),
        ("url", link.url),
      ]
      let rows = facts.compactMap { name, value in value.map { [name, $0.printable] } }
      for line in TextTable.align(rows) + (fetched?.lines ?? []) { context.print(line) }
    }
    if let refusal = fetched?.refusal { throw CommandError.refused(refusal) }
  }
}
