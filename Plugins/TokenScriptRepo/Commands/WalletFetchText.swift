internal import ServiceKit
internal import Ethereum
internal import HTTPProtocol
internal import WalletClient

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
        "namespace": attempt.namespace?.path, "result": attempt.result,
        "rejected": attempt.rejection?.code.rawValue,
      ] as JSONObject).withoutNulls
    }
    json =
      ([
        "contract": request.address.checksummed, "network": request.network.number,
        "path": report.path, "cached": report.hasFile, "source": report.source,
        "attempts": attempts,
      ] as JSONObject).withoutNulls
    switch report.outcome {
    case .stored(let script, let modified, let isUpdate):
      let result = isUpdate ? "updated" : "stored"
      json.values["result"] = result
      describe(script, result, modified, at: report.path)
      if let source = report.source { lines.append("  source     \(source.printable)") }
      lines += report.attempts.filter { $0.rejection != nil }.map { "  \(Self.words($0))" }
    case .unchanged:
      json.values["result"] = "unchanged"
      lines = ["unchanged \(report.path): \(Self.place(report)) has nothing newer"]
    case .ownFile(let repository):
      json.values["result"] = "own"
      json.values["modified"] = repository.text
      lines = [
        "kept \(report.path): newer than that of \(repository.text) at \(Self.place(report)), "
          + "so taken for its author's own"
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
      refuse("no file of the repository can be taken", report, details: attempts.joined())
    case .failed(let reason):
      json.values["result"] = "failed"
      refuse(reason.printable, report)
    }
  }

  private mutating func describe(
    _ script: SignedTokenScript, _ result: String, _ modified: HTTPDate, at path: String
  ) {
    json.values["namespace"] = script.namespace.path
    if let signer = script.signer { json.values["signer"] = signer }
    json.values["key"] = script.key
    json.values["modified"] = modified.text
    let trust: String
    switch script.trust {
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
      "\(result) \(path)", "  namespace  \(script.namespace)",
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
    json.values["choices"] = choices
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
