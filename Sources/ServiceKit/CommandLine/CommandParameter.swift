/// An option or operand of a command.
package enum CommandParameter: Sendable, Equatable {
  /// `--name`.
  case flag(_ name: String, _ help: String)
  /// `--name VALUE`, or `--name=VALUE`. Of several the last one counts, unless the command asks for all.
  case option(_ name: String, value: String, _ help: String)
  /// One operand, which is required.
  case operand(_ name: String, _ help: String)
  /// Further operands, with their least number.
  case operands(_ name: String, atLeast: Int, _ help: String)

  /// The option `--config FILE`, for every command that reads the configuration.
  package static let configuration = CommandParameter.option(
    "config", value: "FILE", "the configuration file; the development setting by default")
  /// The flag `--json`, for every command whose output a program might read.
  package static let json = CommandParameter.flag("json", "print JSON")
}
