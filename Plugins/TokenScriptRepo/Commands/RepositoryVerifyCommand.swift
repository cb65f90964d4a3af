internal import ServiceKit
internal import Platform

/// `awd repo verify`: tells whether a server would serve files, in its repository or elsewhere.
struct RepositoryVerifyCommand: Command {
  static let name = "repo verify"
  static let summary = "Tell whether files would be served: signature, schema, trust, contracts"
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
    // An author is told about all faults at once.
    var reader = checks.reader
    reader.needsSignature = false
    let reports = try await threads.map(paths) { [reader] path in
      let named = CommandFile(path, orIn: configuration.repository).path
      do throws(CommandError) {
        return FileReport(
          try CommandFile(signed: named), by: reader, configuration.rules, now: now)
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
          ? "\(paths[0]) \(failed[0].verdict)".printable
          : "\(failed.count) of \(reports.count) files would not be served")
    }
  }
}
