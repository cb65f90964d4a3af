internal import Ethereum
internal import Platform
internal import ServiceKit

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
    // The specification's table has no owners, so they come last, and only if a chain has named some.
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

/// A table for people.
struct TextTable {
  /// The names of the columns.
  let columns: [String]
  /// The rows, each with a cell for every column.
  let rows: [[String]]

  /// Returns the table as lines: a line for each row or, if that is too wide, a line for each cell.
  ///
  /// - Parameter width: the width of a line in characters, or nil for any width.
  func lines(width: Int?) -> [String] {
    let rows = rows.map { $0.map(\.printable) }
    let rule = columns.indices.map { column in
      String(repeating: "-", count: ([columns] + rows).map { $0[column].count }.max() ?? 0)
    }
    let whole = Self.align([columns, rule] + rows)
    guard let width, rule.map(\.count).reduce(2 * (rule.count - 1), +) > width else { return whole }
    return rows.enumerated().flatMap { number, row in
      (number == 0 ? [] : [""]) + Self.align(zip(columns, row).map { [$0, $1] })
    }
  }

  /// Aligns cells in columns.
  ///
  /// - Returns: a line for each row, without blanks at its end.
  static func align(_ rows: [[String]]) -> [String] {
    let widths = (rows.first ?? []).indices.map { column in
      rows.map { $0[column].count }.max() ?? 0
    }
    return rows.map { row in
      var line = ""
      var pending = 0
      for (cell, width) in zip(row, widths) {
        if !cell.isEmpty {
          line += String(repeating: " ", count: pending) + cell
          pending = 0
        }
        pending += width - cell.count + 2
      }
      return line
    }
  }
}
