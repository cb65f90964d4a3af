internal import CommandLine
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
    return """
      .TH AWD 1 "" "\(Product.name) \(Product.version)" "User Commands"
      .SH NAME
      awd \\- server side of a mobile wallet
      .SH SYNOPSIS
      .B awd
      .I COMMAND
      \\&...
      .SH DESCRIPTION
      awd serves signed TokenScripts, pushes messages to phones (Msgr), and carries end-to-end encrypted conversations
      (Apptimist): three services in one daemon, over one SQLite file or one
      PostgreSQL database.
      .SH COMMANDS
      \(sections.joined(separator: "\n"))
      .SH ENVIRONMENT
      .TP
      .BR AWD_ SECTION _ KEY
      overrides a key of the configuration, and the variable of this name with _FILE behind it names a file with the value.
      .SH FILES
      .TP
      .I /etc/awd/awd.toml
      the configuration of the packaged service, see
      .BR awd.toml (5)
      .TP
      .I /var/lib/awd
      its keys and its database
      .SH EXIT STATUS
      .TP
      .B 0
      The command did what it was asked for.
      .TP
      .B 1
      It was refused or has failed, for the reason on standard error.
      .TP
      .B 2
      The arguments are wrong.
      .SH SEE ALSO
      .BR awd.toml (5)
      """
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
