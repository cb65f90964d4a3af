internal import CommandsResources
internal import Platform
internal import ServiceKit

/// `awd completion`.
struct CompletionCommand: Command {
  static let name = "completion"
  static let summary = "Print the code by which a shell completes this program's commands"
  static let parameters: [CommandParameter] = [
    .operand(
      "SHELL", "bash, zsh or fish; `source <(awd completion bash)` in ~/.bashrc, for example")
  ]

  static func run(_ context: CommandContext) async throws {
    guard let script = scripts[context.arguments.operands[0]] else {
      throw CommandError.usage("SHELL: expected bash, zsh or fish")
    }
    context.print(String(decoding: script.dropLast(), as: UTF8.self))
  }

  /// The scripts by the names of their shells. Each asks the program itself; without an answer it offers files.
  private static let scripts = [
    "bash": Resource(commands_completion_bash()).bytes,
    "zsh": Resource(commands_completion_zsh()).bytes,
    "fish": Resource(commands_completion_fish()).bytes,
  ]
}

/// `awd complete`, which the scripts of ``CompletionCommand`` call.
struct CompleteCommand: Command {
  static let name = "complete"
  static let summary = "Print the words that may stand in the place of the last one"
  static let parameters: [CommandParameter] = [
    .operands("WORD", atLeast: 0, "the words behind the program's name")
  ]
  static let isHidden = true

  static func run(_ context: CommandContext) async throws {
    let completion = Completion(commands: Program.commands(with: context.services))
    for candidate in completion.candidates(for: context.arguments.operands) {
      context.print(
        ([candidate.word] + (candidate.help.map { [$0] } ?? [])).joined(separator: "\t"))
    }
  }
}
