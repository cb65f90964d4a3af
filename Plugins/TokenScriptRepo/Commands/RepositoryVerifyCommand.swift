internal import Ethereum
internal import Platform
internal import ServiceKit

/// `awd repo verify`: checks whether a server would serve files, in its repository or elsewhere.
struct RepositoryVerifyCommand: Command {
  static let name = "repo verify"
  static let summary = "Check whether files would be served: signature, schema, trust, contracts"
  static let parameters: [CommandParameter] = [
    .configuration, .json,
    .operands(
      "FILE", atLeast: 1,
      "a TokenScript, signed or not, in the repository or elsewhere, or a project folder of the official tool"
    ),
  ]

  static func run(_ context: CommandContext) async throws {
    let configuration = try context.configuration(for: TokenScriptService.self)
    let paths = context.arguments.operands
    let now = Timestamp.now()
    let threads = ThreadPool(named: "awd-scan")
    let checks = try await threads.run {
      try RepositoryChecks(configuration, ResponseHeaders(dependsOnClient: false), now: now)
    }
    // The report has all faults at once.
    var reader = checks.reader
    reader.needsSignature = false
    let reports = try await threads.map(paths) { [reader] path in
      let named = CommandFile(path, orIn: configuration.repository).path
      do throws(CommandError) {
        let source = try CommandFile(signed: named)
        return FileReport(
          source, by: reader, configuration.rules, now: now,
          isInRepository: source.isBelow(configuration.repository))
      } catch { return FileReport(unreadable: named, because: error.description) }
    }
    try context.print(json: ["files": reports.map(\.json)]) {
      for problem in checks.problems { context.print("schema left out: \(problem.printable)") }
      for report in reports { for line in report.lines { context.print(line) } }
    }
    let failed = reports.filter { !$0.holds }
    guard failed.isEmpty else {
      throw CommandError.refused(
        reports.count == 1
          ? "\(paths[0]) \(failed[0].outcome)".printable
          : "\(failed.count) of \(reports.count) files would not be served")
    }
  }
}

/// A report of the checks of one file.
struct FileReport: Sendable {
  /// A check with its outcome.
  private struct Check {
    let name: String
    /// The configuration's rule for the check.
    let rule: RepositoryRules.Check
    /// The outcome in a word or two.
    let outcome: String
    /// The reason why the check failed or was not made.
    let reason: String?

    init(
      _ name: String, _ finding: TokenScriptFile.Finding, _ rule: RepositoryRules.Check,
      off: String = "it is switched off"
    ) {
      self.name = name
      self.rule = rule
      switch finding {
      case .passed:
        outcome = "holds"
        reason = nil
      case .failed(let refusal):
        outcome = "fails"
        reason = refusal.words
      case .unchecked:
        outcome = "not checked"
        reason = rule == .off ? off : "the signature does not hold"
      }
    }

    /// The outcome with the reason.
    var words: String {
      outcome + (outcome == "fails" && rule == .warn ? ", which only warns" : "")
        + (reason.map { ": \($0)" } ?? "")
    }
  }

  private let path: String
  /// True if a server would serve the file by the rules of the configuration.
  let holds: Bool
  /// The outcome on a server: "would be served", "would be refused" or "would serve nothing".
  let outcome: String
  /// The reason why it would not be served, or nil.
  private let reason: String?
  /// The meaning of the file, or nil if it is no TokenScript; then there are no checks.
  private var file: TokenScriptFile?
  private var checks: [Check] = []
  private var warnings: [String] = []
  /// The steps that mend the faults, for the author.
  private var advice: [String] = []

  /// Reads and checks a file; blocks on the disk.
  ///
  /// - Parameter isInRepository: whether the file is where a server looks for files; by another name it is ignored there.
  init(
    _ source: CommandFile, by reader: TokenScriptReader, _ rules: RepositoryRules, now: Timestamp,
    isInRepository: Bool
  ) {
    path = source.path
    let isNamed = RepositoryPath(source.path).kind == .tokenScript
    let file: TokenScriptFile
    do throws(FileRefusal) {
      file = try reader.read(source.contents(), now: now)
    } catch {
      holds = false
      outcome = Self.refused
      reason = error.words
      advice = error.advice(at: source.path)
      return
    }
    let (refusal, warnings) = rules.evaluate(file)
    holds = refusal == nil && !file.origins.isEmpty && (isNamed || !isInRepository)
    if let refusal {
      outcome = Self.refused
      reason = refusal.reason
    } else if file.origins.isEmpty {
      outcome = Self.ignored
      reason = "it names no contract with a valid address and chain as its origin"
    } else if !holds {
      outcome = Self.ignored
      reason = Self.wrongName
    } else {
      outcome = "would be served"
      reason = nil
    }
    self.file = file
    checks = [
      Check("signature", file.signature, rules.signature),
      Check(
        "schema", file.validity, rules.schema,
        off: "it is switched off, or no schemas are configured"),
      Check("trust", file.trust, rules.trust),
    ]
    self.warnings = [source.doubt].compactMap(\.self) + file.warnings + warnings
    if let time = file.signer?.time, time > now {
      self.warnings.append("it was signed in the future, which counts as no signing time")
    }
    if holds, !isNamed { self.warnings.append(Self.wrongName) }
    advice = file.advice(at: path, rules, isForPublishing: true)
    if !isNamed { advice.append("name it NAME.tsml before it goes into the repository's folder") }
  }

  private static let refused = "would be refused"
  private static let ignored = "would serve nothing"
  private static let wrongName =
    "in the repository's folder, files whose names end in neither .tsml nor .xml are ignored"

  /// Makes the report of a project folder without a file to check.
  init(unreadable path: String, because reason: String) {
    self.path = path
    self.reason = reason
    holds = false
    outcome = Self.refused
  }

  /// The report for programs.
  var json: JSONObject {
    let contracts = (file?.contracts ?? []).map { contract -> JSONObject in
      [
        "address": contract.address.checksummed, "name": contract.name,
        "network": contract.chain.number, "isOrigin": contract.isOrigin,
      ]
    }
    let checks = checks.map { check in
      let facts: JSONObject = [
        "outcome": check.outcome, "rule": check.rule.rawValue, "reason": check.reason,
      ]
      return (check.name, facts.withoutNulls)
    }
    let signer = file?.signer
    let report: JSONObject = [
      "path": path, "holds": holds, "reason": reason,
      "checks": checks.isEmpty ? nil : Dictionary(uniqueKeysWithValues: checks),
      "schema": file?.schema.path, "contracts": contracts, "signer": signer?.name,
      "key": signer?.key, "kind": signer?.kind, "time": signer?.time?.description,
      "warnings": warnings, "advice": advice,
    ]
    return report.withoutNulls
  }

  /// The report for people.
  var lines: [String] {
    var cells = checks.map { [$0.name, $0.words] }
    if let file { cells.append(["version", file.schema.path]) }
    for contract in file?.contracts ?? [] {
      cells.append([
        contract.isOrigin ? "origin" : "uses",
        "\(contract.name) \(contract.address.checksummed) on chain \(contract.chain.number)",
      ])
    }
    if let signer = file?.signer {
      let name = signer.commonName.map { $0 == signer.key ? "" : "\($0), " } ?? ""
      cells.append(["signer", "\(name)\(signer.kind) key \(signer.key)"])
      cells.append(["signed at", signer.time?.description ?? "no time is signed"])
    }
    let shown = checks.compactMap(\.reason)
    cells += warnings.filter { !shown.contains($0) }.map { ["warning", $0] }
    cells += advice.map { ["mend", $0] }
    return ["\(path): \(outcome)\(reason.map { ": \($0)" } ?? "")".printable]
      + TextTable.align(cells.map { $0.map(\.printable) }).map { "  \($0)" }
  }
}

extension TokenScriptFile {
  /// The step that makes a file of a source.
  static let buildStep =
    "build it: tokenscript build in the project's folder, and then use out/tokenscript.tsml"

  /// True for a source of the official tool, of which it has yet to make a file.
  var isUnbuilt: Bool { warnings.contains(TokenScriptReader.unbuilt) }

  /// Returns the steps by which an author gets a file served, in their order.
  ///
  /// - Parameters:
  ///   - isForPublishing: whether the file is to be published over HTTP.
  func advice(at path: String, _ rules: RepositoryRules, isForPublishing: Bool) -> [String] {
    var advice: [String] = []
    // The build adds everything else that is missing.
    if isUnbuilt { return [Self.buildStep] }
    if warnings.contains(where: { $0.contains("names no network") }) {
      advice.append("add network=\"…\" to every address, with the number of its chain")
    }
    let namesWrongNetwork = warnings.contains { $0.contains("is not the number of a chain") }
    if namesWrongNetwork {
      advice.append(
        "write the number of the chain as network=\"…\", such as 1 for Ethereum's main network")
    }
    let hasWrongAddress = warnings.contains { $0.hasSuffix("is not an address") }
    if hasWrongAddress {
      advice.append("write the contract's address as 0x and 40 hexadecimal digits")
    }
    if origins.isEmpty, !namesWrongNetwork, !hasWrongAddress {
      let name = contracts.first?.name ?? "…"
      advice.append(
        "name the contract in origins: <ts:origins><ts:ethereum contract=\"\(name)\"/></ts:origins>"
      )
    }
    if case .failed = validity {
      advice.append("mend what the schema doesn't allow, before signing")
    }
    switch signature {
    case .failed(let refusal) where refusal.reason == "not signed":
      advice.append("sign it: awd repo sign --key KEY \(path.quotedForShell)")
    case .failed(let refusal) where refusal.reason == FileRefusal.defaultNamespace:
      advice.append(FileRefusal.defaultNamespaceStep)
    case .failed:
      advice.append("remove the signature and sign it again: any change breaks a signature")
    case .passed where isForPublishing && signer?.time == nil:
      advice.append(
        "sign it with a signing time, as awd repo sign does, so that it can't come back once it is old"
      )
    case .passed, .unchecked: break
    }
    if rules.trust == .require, case .failed = trust {
      advice.append("sign it with a certificate that leads to a root, or with the deployer's key")
    }
    return advice
  }
}

extension FileRefusal {
  /// The reason for a source of the official tool, where a file is needed.
  static let unbuilt = "a source that is not built"
  /// The step that gets a signature good which the official tool has made of a root with a default namespace.
  static let defaultNamespaceStep =
    "the default namespace (xmlns=) on the root is the cause, which the official tool leaves out of "
    + "what it signs: move it to the elements below, build and sign again"

  /// Returns the steps that make a file readable, or none if there is no such way.
  func advice(at path: String) -> [String] {
    if reason == Self.defaultNamespace { return [Self.defaultNamespaceStep] }
    if reason == Self.unbuilt { return [TokenScriptFile.buildStep] }
    guard reason == Self.doctype else { return [] }
    let name = path.replacing(/\.(xml|tsml)$/, with: "")
    let new = "\(name)-expanded.tsml"
    return [
      "expand its entities: xmllint --noent --dropdtd --output \(new.quotedForShell) "
        + "\(path.quotedForShell) (in Debian's package libxml2-utils)",
      "then sign the new file: awd repo sign --key KEY \(new.quotedForShell)",
    ]
  }
}
