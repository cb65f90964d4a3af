/// A table for people.
struct TextTable {
  /// The names of the columns.
  let columns: [String]
  /// The cells of each row, as many as there are columns.
  let rows: [[String]]

  /// The table in lines: a line for each row, or, where that is too wide, a line for each cell.
  ///
  /// - Parameter width: how many characters a line has room for; nil: any number.
  func lines(width: Int?) -> [String] {
    let rows = rows.map { $0.map(\.printable) }
    let rule = columns.indices.map { column in
      String(
        repeating: "-", count: ([columns] + rows).map { $0[column].count }.max() ?? 0)
    }
    let whole = Self.align([columns, rule] + rows)
    guard let width, rule.map(\.count).reduce(2 * (rule.count - 1), +) > width else {
      return whole
    }
    return rows.enumerated().flatMap { number, row in
      (number == 0 ? [] : [""]) + Self.align(zip(columns, row).map { [$0, $1] })
    }
  }

  /// Writes cells below each other.
  ///
  /// - Parameter rows: as many cells in each.
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

extension String {
  /// The text in one line, without what would move a terminal's cursor or turn its writing around.
  var printable: String {
    var text = ""
    for scalar in unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse:
        text.unicodeScalars.append("\u{fffd}")
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}
