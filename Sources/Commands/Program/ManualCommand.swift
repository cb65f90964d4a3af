internal import CommandsResources
internal import Platform
internal import ServiceKit
internal import WebApps

/// `awd manual`.
struct ManualCommand: Command {
  static let name = "manual"
  static let summary = "Print the manual page awd(1), for `man -l -`"
  static let parameters: [CommandParameter] = []

  static func run(_ context: CommandContext) async throws {
    context.print(ManualPage(commands: Program.commands(with: context.services)).text)
  }
}

/// Renders awd(1) in the language of man(7), from the texts of `--help`.
struct ManualPage {
  let commands: [any Command.Type]

  /// The page.
  var text: String {
    let sections = commands.filter { !$0.isHidden }.map(section)
    return PageTemplate(Resource(commands_awd_1()).bytes).html([
      "version": "\(Product.name) \(Product.version)",
      "commands": sections.joined(separator: "\n"),
    ])
  }

  private func section(of command: any Command.Type) -> String {
    let usage = (["awd", command.name] + command.parameters.map(\.usage)).joined(separator: " ")
    let rows = command.parameters.map { parameter in
      ".TP\n\\fB\(Self.escaped(parameter.title))\\fR\n\(Self.escaped(parameter.help))"
    }
    return ([".SS \(Self.escaped(usage))", "\(Self.escaped(command.summary))."] + rows)
      .joined(separator: "\n")
  }

  /// Escapes what roff would take for a request, an escape sequence or a hyphen.
  private static func escaped(_ text: String) -> String {
    let plain = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
      .replacing("…", with: "...")
    return plain.hasPrefix(".") || plain.hasPrefix("'") ? "\\&\(plain)" : plain
  }
}

/// Renders the output of `--help`.
struct HelpText {
  /// The length of a line, which only a single word exceeds.
  private static let width = 100

  let program: String
  let commands: [any Command.Type]

  /// Lists the commands whose names begin with some words. Those of one thing, such as `user`, stand together, apart from others
  /// and from commands of a single word.
  ///
  /// - Returns: the text, or nil if no command begins so.
  func overview(of group: [String]) -> String? {
    let members = commands.filter {
      $0.name.split(separator: " ").map(String.init).starts(with: group)
    }
    guard !members.isEmpty else { return nil }
    let words = ([program] + group).joined(separator: " ")
    let shown = members.filter { !$0.isHidden }
    var list = ""
    var thing = shown.first.flatMap(Self.thing)
    for (command, row) in zip(shown, Self.rows(shown.map { ($0.name, $0.summary) })) {
      if group.isEmpty, Self.thing(of: command) != thing { list += "\n" }
      thing = Self.thing(of: command)
      list += "\(row)\n"
    }
    return """
      usage: \(words) COMMAND …

      \(list)
      See \(program) COMMAND --help for the options of a command.
      """
  }

  /// Returns the page of one command.
  func page(of command: any Command.Type) -> String {
    let usage = command.parameters.map(\.usage)
    let rows = command.parameters.map { ($0.title, $0.help) } + [("--help", "print this help")]
    let synopsis = Self.wrap(usage, behind: "usage: \(program) \(command.name) ")
    let summary = Self.wrap(command.summary.split(separator: " "), behind: "")
    return "\(synopsis)\n\n\(summary)\n\n\(Self.rows(rows).joined(separator: "\n"))"
  }

  /// The first word of a command's name; nil if it is the only one.
  private static func thing(of command: any Command.Type) -> Substring? {
    command.name.contains(" ") ? command.name.prefix { $0 != " " } : nil
  }

  /// Lays out rows of a table with two columns.
  private static func rows(_ rows: [(String, String)]) -> [String] {
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { name, help in
      let padding = String(repeating: " ", count: width - name.count)
      return wrap(help.split(separator: " "), behind: "  \(name)\(padding)  ")
    }
  }

  /// Appends words to a beginning, in as many lines as they need, all from the same column on.
  private static func wrap(_ words: [some StringProtocol], behind beginning: String) -> String {
    var lines: [String] = []
    var line = beginning
    var isEmpty = true
    for word in words {
      if !isEmpty && line.count + 1 + word.count > width {
        lines.append(line)
        line = String(repeating: " ", count: beginning.count)
        isEmpty = true
      }
      line += isEmpty ? "\(word)" : " \(word)"
      isEmpty = false
    }
    return (lines + [line]).joined(separator: "\n")
  }
}

extension CommandParameter {
  /// The parameter in a synopsis.
  var usage: String {
    switch self {
    case .flag, .option: "[\(title)]"
    case .operand(let name, _): name
    case .operands(let name, let least, _): least > 0 ? "\(name)…" : "[\(name)…]"
    }
  }

  /// The parameter in front of its help.
  var title: String {
    switch self {
    case .flag(let name, _): "--\(name)"
    case .option(let name, let value, _): "--\(name) \(value)"
    case .operand(let name, _), .operands(let name, _, _): name
    }
  }

  /// The purpose of the parameter.
  var help: String {
    switch self {
    case .flag(_, let help), .option(_, _, let help), .operand(_, let help),
      .operands(_, _, let help):
      help
    }
  }
}
