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
    let widths = columns.indices.map { column in
      ([columns[column]] + rows.map { $0[column] }).map(\.count).max() ?? 0
    }
    let whole = widths.reduce(0, +) + 2 * (columns.count - 1)
    guard let width, width < whole else {
      let rule = widths.map { String(repeating: "-", count: $0) }
      return ([columns, rule] + rows).map { Self.line($0, widths) }
    }
    let widest = columns.map(\.count).max() ?? 0
    return rows.enumerated().flatMap { number, row in
      (number == 0 ? [] : [""])
        + zip(columns, row).map { Self.line([$0, $1], [widest, 0]) }
    }
  }

  private static func line(_ cells: [String], _ widths: [Int]) -> String {
    var line = ""
    for (cell, width) in zip(cells, widths) {
      line += cell + String(repeating: " ", count: max(0, width - cell.count) + 2)
    }
    return String(line.prefix(line.count - (line.reversed().prefix { $0 == " " }.count)))
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
