internal import TestSupport
internal import Testing

@testable import Commands

@Suite struct CompletionTests {
  @Test(arguments: [
    (["b"], ["backup", "bench"]),
    (["serve", "--"], ["--config", "--trust-clock", "--help"]),
    (["check", "--json", "--"], ["--config", "--verbose", "--help"]),
    (["serve", "--config", ""], []),
    (["help", "ver"], ["version"]), (["serve", ""], []), (["comp"], ["completion"]),
    (["nope", ""], []), (["nope", "--"], []),
  ])
  func words(_ words: [String], _ expected: [String]) {
    let completion = Completion(commands: Program.commands(with: []))
    #expect(completion.candidates(for: words).map(\.word) == expected)
  }

  /// The shells themselves are asked what they offer behind a beginning.
  @Test(arguments: ["bash", "fish", "zsh"])
  func shells(_ shell: String) throws {
    let folder = TemporaryFolder([
      "bash": """
      PATH="$1:$PATH"; source <(awd completion bash)
      COMP_WORDS=(awd b); COMP_CWORD=1; _awd; echo "${COMPREPLY[@]}"
      """,
      "fish": """
      set PATH $argv[1] $PATH; awd completion fish | source
      complete -C 'awd b' | cut -f 1 | string join ' '
      """,
      // Without a terminal there is no completion system: its functions are taken down.
      "zsh": """
      PATH="$1:$PATH"; compdef() { }; _files() { print files }
      _describe() { print ${(P)2%%:*} }
      eval "$(awd completion zsh)"; words=(awd b); CURRENT=2; _awd
      """,
    ])
    let folderOfProgram = String(try ChildProcess.built("awd").dropLast("/awd".count))
    let outcome = try ChildProcess(shell, ["\(folder.path)/\(shell)", folderOfProgram]).outcome()
    #expect(
      outcome.output.split(whereSeparator: \.isWhitespace).joined(separator: " ") == "backup bench")
    #expect(outcome.errors.isEmpty && outcome.code == 0, "\(outcome.errors)")
  }
}
