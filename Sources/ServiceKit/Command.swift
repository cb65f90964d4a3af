/// A subcommand of the program.
public protocol Command: Sendable {
  /// The words that name the command: `"repo verify"`.
  static var name: String { get }
  /// The purpose in one line without a period, for `--help`.
  static var summary: String { get }
  /// The options and operands, without `--help`, which every command has.
  static var parameters: [CommandParameter] { get }
  /// Whether overviews leave the command out, because only the program itself calls it.
  static var isHidden: Bool { get }

  /// Runs the command.
  ///
  /// - Parameter context: the arguments, and the ways to reach the rest of the program.
  /// - Throws: ``CommandError``, or another error that describes the reason of a refusal (exit code 1).
  static func run(_ context: CommandContext) async throws
}

extension Command {
  /// False.
  public static var isHidden: Bool { false }
}

/// An option or operand of a command.
public enum CommandParameter: Sendable, Equatable {
  /// `--name`.
  case flag(_ name: String, _ help: String)
  /// `--name VALUE`, or `--name=VALUE`. Of several the last one counts, unless the command asks for all.
  case option(_ name: String, value: String, _ help: String)
  /// One operand, which is required.
  case operand(_ name: String, _ help: String)
  /// Further operands, with their least number.
  case operands(_ name: String, atLeast: Int, _ help: String)

  /// The option `--config FILE`, for every command that reads the configuration.
  public static let configuration = CommandParameter.option(
    "config", value: "FILE", "the configuration file; the development setting by default")
  /// The flag `--json`, for every command whose output a program might read.
  public static let json = CommandParameter.flag("json", "print JSON")
}

/// The reason why a command failed.
public enum CommandError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The command was refused or failed, for the given reason (exit code 1).
  case refused(String)
  /// The arguments are wrong (exit code 2).
  case usage(String)

  /// The reason.
  public var description: String {
    switch self {
    case .refused(let reason), .usage(let reason): reason
    }
  }
}
