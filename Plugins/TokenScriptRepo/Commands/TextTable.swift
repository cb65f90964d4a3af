internal import ServiceKit

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
  /// - Parameter rows: rows with equally many cells.
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
