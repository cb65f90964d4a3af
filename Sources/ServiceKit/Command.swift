/// A subcommand of the program.
public protocol Command: Sendable {
  /// The words that call it: `"repo verify"`.
  static var name: String { get }
  /// What it does, in one line without a period.
  static var summary: String { get }
  /// The options and operands it takes; `--help` needs no mention.
  static var parameters: [CommandParameter] { get }

  /// Does it.
  ///
  /// - Parameter context: its arguments, and what the program lends it.
  /// - Throws: ``CommandError``, or anything else that describes why it was refused: exit code 1.
  static func run(_ context: CommandContext) async throws
}

/// An option or operand of a command.
public enum CommandParameter: Sendable, Equatable {
  /// `--name`.
  case flag(_ name: String, _ help: String)
  /// `--name VALUE`, or `--name=VALUE`; of several the last one counts, unless the command asks for
  /// all.
  case option(_ name: String, value: String, _ help: String)
  /// One operand, which must be there.
  case operand(_ name: String, _ help: String)
  /// Further operands, at least so many.
  case operands(_ name: String, atLeast: Int, _ help: String)

  /// `--config FILE`, for every command that reads the configuration.
  public static let configuration = CommandParameter.option(
    "config", value: "FILE", "the configuration file; without it, the development setting")
  /// `--json`, for every command whose output a program might read.
  public static let json = CommandParameter.flag("json", "print JSON")
}

/// Why a command didn't do what it was asked to.
public enum CommandError: Error, Sendable, Equatable {
  /// It was refused or failed, for the reason given: exit code 1.
  case refused(String)
  /// It was called wrongly: exit code 2.
  case usage(String)
}
