internal import ServiceKit
internal import Platform

/// `awd repo verify`: tells whether a server would serve files, in its repository or elsewhere.
struct RepositoryVerifyCommand: Command {
  static let name = "repo verify"
  static let summary = "Tell whether files would be served: signature, schema, trust, contracts"
  static let parameters: [CommandParameter] = [
    .configuration, .json,
    .operands("FILE", atLeast: 1, "a TokenScript, signed or not, in the repository or elsewhere"),
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
      FileReport(
        CommandFile(path, orIn: configuration.repository), by: reader,
        configuration.rules, now: now)
    }
    try context.print(json: ["files": reports.map(\.json)]) {
      for problem in checks.problems { context.print("schema left out: \(problem.printable)") }
      for report in reports { for line in report.lines { context.print(line) } }
    }
    let refused = reports.count { !$0.holds }
    guard refused == 0 else {
      throw CommandError.refused(
        reports.count == 1
          ? "\(paths[0].printable) would be refused"
          : "\(refused) of \(reports.count) files would be refused")
    }
  }
}
