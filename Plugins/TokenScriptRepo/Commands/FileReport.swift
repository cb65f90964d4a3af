internal import Cryptography
internal import Observability

/// What the checks find in one file.
struct FileReport: Encodable, Sendable {
  /// How a check ended.
  struct Check: Encodable, Sendable {
    /// The outcome in one word.
    enum Outcome: String, Encodable {
      case holds, fails
      /// It is switched off, or there was nothing to check.
      case unchecked = "not checked"
    }

    let outcome: Outcome
    /// What the configuration says of it.
    let rule: String
    /// Why it fails, or was not made.
    let reason: String?

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

  /// A contract that the file names.
  struct Contract: Encodable, Sendable {
    let address: String
    let name: String
    let network: UInt64?
    /// Whether the file is served for it; others are merely used.
    let isOrigin: Bool
  }

  let path: String
  /// Whether a server would take the file, by the rules of the configuration.
  let holds: Bool
  /// Why not.
  let reason: String?
  private(set) var schemaVersion: String?
  private(set) var signature: Check?
  private(set) var schema: Check?
  private(set) var trust: Check?
  private(set) var contracts: [Contract] = []
  /// The certificate's common name, or the key.
  private(set) var signer: String?
  private(set) var key: String?
  private(set) var kind: String?
  private(set) var signingTime: String?
  private(set) var warnings: [String] = []

  /// Reads and checks a file; blocks on the disk.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - reader: makes the checks.
  ///   - rules: what the configuration makes of findings.
  ///   - now: the time, in seconds since 1970.
  init(_ path: String, by reader: TokenScriptReader, _ rules: RepositoryRules, now: Int64) {
    self.path = path
    let file: TokenScriptFile
    do throws(Refusal) {
      file = try reader.read(TokenScriptBytes.read(path), now: now)
    } catch {
      holds = false
      reason = error.words
      return
    }
    let (refusal, warnings) = rules.judge(file)
    holds = refusal == nil
    reason = refusal?.words
    schemaVersion = file.schema.path
    signature = Check(file.signature, rules.signature)
    schema = Check(
      file.validity, rules.schema, off: "it is switched off, or no schemas are configured")
    trust = Check(file.trust, rules.trust)
    contracts = file.contracts.map {
      Contract(
        address: $0.address.checksummed, name: $0.name, network: $0.network,
        isOrigin: $0.isOrigin)
    }
    signer = file.signer.map { $0.commonName ?? $0.key }
    key = file.signer?.key
    kind = file.signer?.kind
    signingTime = file.signer?.time.map { "\(Timestamp(seconds: $0))" }
    self.warnings = file.warnings + warnings
    if let time = file.signer?.time, time > now {
      self.warnings.append("it was signed in the future, which counts as no signing time")
    }
    if file.origins.isEmpty {
      self.warnings.append("it names no contract as its origin, so nothing would be served")
    }
  }

  /// The report for people.
  var lines: [String] {
    var cells: [[String]] = []
    for (name, check) in [("signature", signature), ("schema", schema), ("trust", trust)] {
      guard let check else { continue }
      let isForgiven = check.outcome == .fails && check.rule == "warn"
      cells.append([
        name,
        check.outcome.rawValue + (isForgiven ? ", which only warns" : "")
          + (check.reason.map { ": \($0)" } ?? ""),
      ])
    }
    if let schemaVersion { cells.append(["version", schemaVersion]) }
    for contract in contracts {
      let network = contract.network.map { " on network \($0)" } ?? ""
      cells.append([
        contract.isOrigin ? "origin" : "uses", "\(contract.name) \(contract.address)\(network)",
      ])
    }
    if let signer, let key, let kind {
      cells.append([
        "signer", signer == key ? "\(kind) key \(key)" : "\(signer), \(kind) key \(key)",
      ])
      cells.append(["signed at", signingTime ?? "no time is signed"])
    }
    cells += warnings.filter { warning in
      // Told at the check already.
      ![signature, schema, trust].contains { $0?.reason == warning }
    }.map { ["warning", $0] }
    let verdict = holds ? "would be served" : "would be refused: \(reason ?? "")"
    let columns = ["", ""]
    let table = TextTable(columns: columns, rows: cells).lines(width: nil).dropFirst(2)
    return ["\(path.printable): \(verdict.printable)"] + table.map { "  \($0)" }
  }
}
