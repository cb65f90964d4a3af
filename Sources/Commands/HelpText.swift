import ServiceKit

/// Renders what `--help` shows.
struct HelpText {
  let program: String
  let commands: [any Command.Type]

  /// The commands whose names begin with some words, one a line.
  ///
  /// - Parameter group: the words; none: all commands.
  /// - Returns: the text; nil if no command begins so.
  func overview(of group: [String]) -> String? {
    let members = commands.filter {
      $0.name.split(separator: " ").map(String.init).starts(with: group)
    }
    guard !members.isEmpty else { return nil }
    let words = ([program] + group).joined(separator: " ")
    let rows = members.map { ($0.name, $0.summary) }
    return """
      usage: \(words) COMMAND …

      \(Self.columns(rows))

      \(program) COMMAND --help tells more.
      """
  }

  /// The page of one command.
  func page(of command: any Command.Type) -> String {
    var usage = "usage: \(program) \(command.name)"
    var rows: [(String, String)] = []
    for parameter in command.parameters {
      switch parameter {
      case .flag(let name, let help):
        usage += " [--\(name)]"
        rows.append(("--\(name)", help))
      case .option(let name, let value, let help):
        usage += " [--\(name) \(value)]"
        rows.append(("--\(name) \(value)", help))
      case .operand(let name, let help):
        usage += " \(name)"
        rows.append((name, help))
      case .operands(let name, let least, let help):
        usage += least > 0 ? " \(name)…" : " [\(name)…]"
        rows.append((name, help))
      }
    }
    rows.append(("--help", "print this"))
    return "\(usage)\n\n\(command.summary)\n\n\(Self.columns(rows))"
  }

  private static func columns(_ rows: [(String, String)]) -> String {
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { name, help in
      "  \(name)\(String(repeating: " ", count: width - name.count))  \(help)"
    }.joined(separator: "\n")
  }
}
