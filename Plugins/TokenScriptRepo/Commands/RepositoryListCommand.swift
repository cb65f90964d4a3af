internal import Ethereum
internal import ServiceKit
internal import Platform

/// `awd repo list`: prints the specification's table, with a row for each contract of each file.
struct RepositoryListCommand: Command {
  static let name = "repo list"
  static let summary = "List every contract of every file, with its state"
  static let parameters = [CommandParameter.configuration, .json]

  static func run(_ context: CommandContext) async throws {
    let lent = try await context.serviceContext(for: TokenScriptService.self, onlyToRead: true)
    let inspection = try await RepositoryInspection(
      try context.configuration(for: TokenScriptService.self),
      remembered: ContractStore(lent.store),
      now: lent.clock().wholeSecond)
    let items = inspection.index.rows
    guard !context.arguments.has("json") else {
      return try context.print(json: ["contracts": items])
    }
    var columns = [
      "contract", "contract name", "schema version", "signature date", "signer", "path", "state",
    ]
    var rows = items.map { item in
      [
        item.contract?.checksummed, item.name, item.schema?.path,
        item.time.map { String($0.description.prefix(10)) }, item.signer?.name, item.path.text,
        item.state.words,
      ].map { $0 ?? "-" }
    }
    // The specification's table has no owners, so that they come last, and only if a chain was asked for some.
    if items.contains(where: { !$0.owners.isEmpty }) {
      columns.append("owner")
      rows = zip(rows, items).map { row, item in
        row + [item.owners.isEmpty ? "-" : item.ownerNames.joined(separator: " ")]
      }
    }
    let table = TextTable(columns: columns, rows: rows)
    for line in table.lines(width: Terminal.width(context.environment)) { context.print(line) }
    context.print("")
    context.print(inspection.index.sum)
    for problem in inspection.problems { context.print(problem.printable) }
  }
}
