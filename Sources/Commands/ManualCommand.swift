internal import CommandsResources
internal import Platform
internal import WebApps
internal import ServiceKit

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
