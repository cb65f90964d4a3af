internal import CommandLine
internal import Ethereum
internal import Time
internal import TokenScriptReading

/// A report of the checks of one file.
struct FileReport: Encodable, Sendable {
  /// The outcome of a check.
  struct Check: Encodable, Sendable {
    /// The outcome in one word.
    enum Outcome: String, Encodable {
      case holds, fails
      /// The check is switched off, or there was nothing to check.
      case unchecked = "not checked"
    }

    let outcome: Outcome
    /// The configuration's rule for the check.
    let rule: String
    /// The reason why the check failed or was not made.
    let reason: String?

    /// The outcome with the reason.
    fileprivate var words: String {
      let isForgiven = outcome == .fails && rule == RepositoryRules.Check.warn.rawValue
      return outcome.rawValue + (isForgiven ? ", which only warns" : "")
        + (reason.map { ": \($0)" } ?? "")
    }

    fileprivate init(
      _ finding: TokenScriptFile.Finding, _ rule: RepositoryRules.Check,
      off: String = "it is switched off"
    ) {
      self.rule = rule.rawValue
      switch finding {
      case .passed: (outcome, reason) = (.holds, nil)
      case .failed(let refusal): (outcome, reason) = (.fails, refusal.words)
      case .unchecked:
        (outcome, reason) = (.unchecked, rule == .off ? off : "the signature does not hold")
      }
    }
  }

  /// A contract in the file.
  struct Contract: Encodable, Sendable {
    let address: String
    let name: String
    /// The number of the chain.
    let network: Int64
    /// Whether the file is served for the contract; it merely uses the others.
    let isOrigin: Bool
  }

  /// The three checks.
  struct Checks: Encodable, Sendable {
    let signature: Check
    let schema: Check
    let trust: Check
  }

  let path: String
  /// Whether a server would serve the file by the rules of the configuration.
  let holds: Bool
  /// The reason why it would not, or nil.
  let reason: String?
  /// The outcomes of the checks, or nil if the file is no TokenScript.
  private(set) var checks: Checks?
  /// The schema version.
  private(set) var schema: String?
  private(set) var contracts: [Contract] = []
  /// The certificate's common name, or the key.
  private(set) var signer: String?
  private(set) var key: String?
  private(set) var kind: String?
  /// The signing time.
  private(set) var time: String?
  private(set) var warnings: [String] = []
  /// The steps that mend the faults, for the author.
  private(set) var advice: [String] = []

  /// Reads and checks a file; blocks on the disk.
  ///
  /// - Parameters:
  ///   - source: the file.
  ///   - reader: reads and checks the file.
  ///   - rules: the configuration's rules.
  ///   - now: the present time.
  init(
    _ source: CommandFile, by reader: TokenScriptReader, _ rules: RepositoryRules, now: Timestamp
  ) {
    path = source.path
    let file: TokenScriptFile
    do throws(FileRefusal) {
      file = try reader.read(source.contents(), now: now)
    } catch {
      holds = false
      reason = error.words
      return
    }
    let (refusal, warnings) = rules.judge(file)
    holds = refusal == nil
    reason = refusal?.reason
    checks = Checks(
      signature: Check(file.signature, rules.signature),
      schema: Check(
        file.validity, rules.schema, off: "it is switched off, or no schemas are configured"),
      trust: Check(file.trust, rules.trust))
    schema = file.schema.path
    contracts = file.contracts.map {
      Contract(
        address: $0.address.checksummed, name: $0.name, network: $0.chain.number,
        isOrigin: $0.isOrigin)
    }
    signer = file.signer?.name
    key = file.signer?.key
    kind = file.signer?.kind
    time = file.signer?.time?.description
    self.warnings = file.warnings + warnings
    if let time = file.signer?.time, time > now {
      self.warnings.append("it was signed in the future, which counts as no signing time")
    }
    advice = file.advice(at: path, rules, isForPublishing: true)
    if file.origins.isEmpty {
      self.warnings.append("it names no contract as its origin, so nothing would be served")
    }
  }

  /// The report for people.
  var lines: [String] {
    let checks = checks.map {
      [("signature", $0.signature), ("schema", $0.schema), ("trust", $0.trust)]
    }
    var cells = (checks ?? []).map { [$0, $1.words] }
    if let schema { cells.append(["version", schema]) }
    for contract in contracts {
      cells.append([
        contract.isOrigin ? "origin" : "uses",
        "\(contract.name) \(contract.address) on chain \(contract.network)",
      ])
    }
    if let signer, let key, let kind {
      cells.append(["signer", "\(signer == key ? "" : "\(signer), ")\(kind) key \(key)"])
      cells.append(["signed at", time ?? "no time is signed"])
    }
    let told = (checks ?? []).compactMap(\.1.reason)
    cells += warnings.filter { !told.contains($0) }.map { ["warning", $0] }
    cells += advice.map { ["mend", $0] }
    let verdict = holds ? "would be served" : "would be refused: \(reason ?? "")"
    return ["\(path): \(verdict)".printable]
      + TextTable.align(cells.map { $0.map(\.printable) }).map { "  \($0)" }
  }
}
