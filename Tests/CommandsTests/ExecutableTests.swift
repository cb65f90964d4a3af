internal import Foundation
internal import TestSupport
internal import Testing

/// The built program as users run it: exit codes, streams, signals.
@Suite(.ownThreads) struct ExecutableTests {
  @Test(arguments: [
    (["version"], 0, "awd ", ""), (["--help"], 0, "usage: awd", ""),
    (["check", "--verbose"], 0, "server.listen = ", ""),
    (["check", "--verbose", "--config", "good.toml"], 0, "threads = 2", ""),
    (["check", "--config", "bad.toml"], 1, "", "bad.toml:2:1: server.thread: unknown key"),
    (["check", "--config", "none.toml"], 1, "", "none.toml"),
    (["serve", "--config", "bad.toml"], 1, "", "did you mean `threads`?"),
    (["serve", "--config", "unwritable.toml"], 1, "", "data folder /proc/awd"),
    (["nonsense"], 2, "", "try: awd --help"), ([], 2, "", "usage: awd"),
  ])
  func exits(_ words: [String], _ code: Int32, _ output: String, _ errors: String) throws {
    let folder = TemporaryFolder([
      "good.toml": "[server]\nthreads = 2\n", "bad.toml": "[server]\nthread = 2\n",
      "unwritable.toml": "[server]\ndata = \"/proc/awd\"\n",
    ])
    let words = words.map { $0.hasSuffix(".toml") ? "\(folder.path)/\($0)" : $0 }
    // `awd check` finds a port that is in use wrong, and another test may serve at the usual one.
    let outcome = try ChildProcess.awd(
      words, home: folder.path, environment: ["AWD_SERVER_LISTEN": "127.0.0.1:0"]
    ).outcome()
    #expect(outcome.code == code)
    let (written, told) = (outcome.output, outcome.errors)
    #expect(output.isEmpty ? written.isEmpty : written.contains(output))
    #expect(errors.isEmpty ? told.isEmpty : told.contains(errors))
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func servesUntilTheSignal(_ signal: Int32) throws {
    let folder = TemporaryFolder(["awd.toml": "[server]\nlisten = [\"127.0.0.1:0\"]\n"])
    let process = try ChildProcess.awd(
      ["serve", "--config", "\(folder.path)/awd.toml"], home: folder.path)
    try process.line(with: "listening at=http://127.0.0.1:")
    #expect(process.errors.contains("is running"))
    process.signal(SIGHUP)
    process.signal(signal)
    #expect(try process.ended() == .exited(0))
    #expect(process.errors.contains("reloaded") && process.errors.hasSuffix("stopped\n"))
  }
}
