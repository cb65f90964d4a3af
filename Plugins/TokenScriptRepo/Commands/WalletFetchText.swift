internal import CommandLine
internal import Ethereum
internal import HTTPProtocol
internal import WalletClient

/// The output of `awd wallet fetch` for a report.
struct WalletFetchText {
  /// The lines for people, or none if there is only a refusal.
  private(set) var lines: [String] = []
  /// The reason why there is no trustworthy file, for people, or nil if there is one.
  private(set) var refusal: String?
  /// The output for programs.
  private(set) var json: Summary

  struct Summary: Encodable, Sendable {
    struct Attempt: Encodable {
      let namespace: String?
      let result: String
      let rejected: String?
    }

    /// `stored`, `updated`, `unchanged`, `own`, `choices`, `unreadable`, `absent`, `gone`, `invalid` or `failed`.
    var result: String
    let contract: String
    let network: Int64
    let path: String
    /// Whether a file exists at the path.
    let cached: Bool
    /// The contract's own URI that the file is from, or nil for the repository.
    let source: String?
    var namespace: String?
    var signer: String?
    var key: String?
    var trusted: Bool?
    var modified: String?
    var choices: [TokenScriptChoice]?
    let attempts: [Attempt]
  }

  init(_ request: TokenScriptRequest, _ report: TokenScriptReport) {
    json = Summary(
      result: "", contract: request.address.checksummed, network: request.network.number,
      path: report.path, cached: report.hasFile,
      source: report.source,
      attempts: report.attempts.map {
        Summary.Attempt(
          namespace: $0.namespace?.path, result: $0.result, rejected: $0.rejection?.code.rawValue)
      })
    switch report.outcome {
    case .stored(let script, let modified, let isUpdate):
      json.result = isUpdate ? "updated" : "stored"
      describe(script, modified, at: report.path)
      if let source = report.source { lines.append("  source     \(source.printable)") }
      lines += report.attempts.filter { $0.rejection != nil }.map { "  \(Self.words($0))" }
    case .unchanged:
      json.result = "unchanged"
      lines = ["unchanged \(report.path): \(Self.place(report)) has nothing newer"]
    case .ownFile(let repository):
      json.result = "own"
      json.modified = repository.text
      lines = [
        "kept \(report.path): newer than that of \(repository.text) at \(Self.place(report)), "
          + "so taken for its author's own"
      ]
    case .choices(let choices):
      json.result = "choices"
      list(choices)
      refuse("several signers have published a file; choose one by --signer", report)
    case .unreadable:
      json.result = "unreadable"
      let words = "the repository has no version that this wallet reads"
      if report.hasFile { lines = ["kept \(report.path): \(words)"] } else { refusal = words }
    case .absent(let isGone):
      json.result = isGone ? "gone" : "absent"
      let whose = request.signer.map { " of \($0)".printable } ?? ""
      refuse(
        isGone
          ? "the repository's file\(whose) is gone" : "the repository has no file\(whose) for it",
        report)
    case .invalid:
      json.result = "invalid"
      let attempts = report.attempts.map { "\n  \(Self.words($0))" }
      refuse("no file of the repository can be taken", report, details: attempts.joined())
    case .failed(let reason):
      json.result = "failed"
      refuse(reason.printable, report)
    }
  }

  private mutating func describe(
    _ script: SignedTokenScript, _ modified: HTTPDate, at path: String
  ) {
    json.namespace = script.namespace.path
    json.signer = script.signer
    json.key = script.key
    json.modified = modified.text
    let trust: String
    switch script.trust {
    case .trusted:
      trust = "its certificate is trusted"
      json.trusted = true
    case .untrusted(let reason):
      trust = "not trusted: \(reason)"
      json.trusted = false
    case .unchecked: trust = "its certificate was not checked"
    }
    let signer = "\(script.signer ?? script.key) (\(trust))"
    lines = [
      "\(json.result) \(path)", "  namespace  \(script.namespace)",
      "  signer     \(signer.printable)", "  key        \(script.key)",
      "  modified   \(modified.text)",
    ]
  }

  private static func place(_ report: TokenScriptReport) -> String {
    report.source?.printable ?? "the repository"
  }

  private static func words(_ attempt: TokenScriptReport.Attempt) -> String {
    "\(attempt.namespace.map { "\($0): " } ?? "")\(attempt.result)".printable
  }

  private mutating func list(_ choices: [TokenScriptChoice]) {
    json.choices = choices
    lines = choices.map { choice in
      let title = choice.title.flatMap { $0 == choice.signer ? nil : "  \($0)" } ?? ""
      let modified = choice.modified.map { "  \($0)" } ?? ""
      return "--signer \(quoted(choice.signer ?? choice.url))\(title)\(modified)".printable
    }
  }

  /// Quotes a word for a shell.
  private func quoted(_ word: String) -> String {
    // By scalars: with an accent behind it a quotation mark is another character.
    word.unicodeScalars.reduce(into: "'") { $0 += $1 == "'" ? "'\\''" : "\($1)" } + "'"
  }

  private mutating func refuse(
    _ reason: String, _ report: TokenScriptReport, details: String = ""
  ) {
    refusal = reason + (report.hasFile ? "; the local file stays" : "") + details
  }
}
