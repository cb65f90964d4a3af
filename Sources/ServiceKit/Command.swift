/// A subcommand of the program.
package protocol Command: Sendable {
  /// The words that name the command: `"repo verify"`.
  static var name: String { get }
  /// The purpose in one line without a period, for `--help`.
  static var summary: String { get }
  /// The options and operands, without `--help`, which every command has.
  static var parameters: [CommandParameter] { get }
  /// True if overviews leave the command out, because only the program itself calls it.
  static var isHidden: Bool { get }

  /// Runs the command.
  ///
  /// - Parameter context: the arguments, and the ways to reach the rest of the program.
  /// - Throws: ``CommandError``, or another error that describes the reason of a refusal (exit code 1).
  static func run(_ context: CommandContext) async throws
}

extension Command {
  /// False.
  package static var isHidden: Bool { false }
}
