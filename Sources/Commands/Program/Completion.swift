internal import CommandsResources
internal import Platform
internal import ServiceKit

/// Finds the words that may stand where somebody is typing.
struct Completion {
  /// A word, and its meaning where there is one in a line.
  struct Candidate: Equatable {
    let word: String
    let help: String?
  }

  let commands: [any Command.Type]

  /// Returns the words that continue a command line.
  ///
  /// - Parameter words: the words behind the program's name, the last of which isn't finished and may be empty.
  /// - Returns: the candidates; none where a file or a value is expected.
  func candidates(for words: [String]) -> [Candidate] {
    var before = words.dropLast()
    if before.first == "help" { before.removeFirst() }
    let all = names(behind: Array(before)) + options(behind: before)
    let beginning = words.last ?? ""
    return all.filter {
      $0.word.hasPrefix(beginning) && ($0.word.first != "-" || !beginning.isEmpty)
    }
  }

  /// Returns the next words of the commands whose names begin with some words.
  private func names(behind words: [String]) -> [Candidate] {
    var found: [Candidate] = []
    for command in commands where !command.isHidden {
      let name = command.name.split(separator: " ").map(String.init)
      guard name.count > words.count, name.starts(with: words) else { continue }
      let next = name[words.count]
      if found.contains(where: { $0.word == next }) { continue }
      found.append(
        Candidate(word: next, help: name.count == words.count + 1 ? command.summary : nil))
    }
    return found
  }

  /// Returns the options that may follow, unless the last word is one that wants a value.
  private func options(behind words: ArraySlice<String>) -> [Candidate] {
    let fitting = commands.filter {
      words.starts(with: $0.name.split(separator: " ").map(String.init))
    }
    guard let command = fitting.max(by: { $0.name.count < $1.name.count }) else { return [] }
    var found: [Candidate] = []
    for parameter in command.parameters {
      switch parameter {
      case .flag(let name, let help):
        if !words.contains("--\(name)") { found.append(Candidate(word: "--\(name)", help: help)) }
      case .option(let name, _, let help):
        if words.last == "--\(name)" { return [] }
        found.append(Candidate(word: "--\(name)", help: help))
      case .operand, .operands: continue
      }
    }
    return found + [Candidate(word: "--help", help: "print this help")]
  }
}

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
