internal import Foundation
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

/// Tests of the demo that `awd serve` makes, and of the requests that it suggests.
@Suite(.ownThreads) struct DemoServeTests {
  private func start(_ fixture: CommandsFixture) throws -> ChildProcess {
    try .awd(
      ["serve"], home: fixture.folder, environment: ["AWD_SERVER_LISTEN": "127.0.0.1:0"])
  }

  @Test func everySuggestionDoesWhatItSays() throws {
    let fixture = try CommandsFixture()
    let process = try start(fixture)
    // The last suggestion.
    try process.line(with: "--with bert\n", on: .output, within: .seconds(120))
    let lines = process.output.split(separator: "\n")
    var codes: [String] = []
    for (outcome, command) in zip(lines, lines.dropFirst())
    where command.hasPrefix("    curl ") {
      let code = String(outcome.dropFirst(2).prefix(3))
      let answer = try fixture.spawn("bash", ["-c", "\(command) --silent --show-error"])
      #expect(answer.output.hasPrefix("HTTP/1.1 \(code) "), "\(command): \(answer)")
      codes.append(code)
    }
    #expect(codes == ["200", "304", "300", "200", "404", "200"])
  }

  /// Kills the process as soon as a part of the keys or the repository is there. Then there is the whole demo or none,
  /// and the next start makes it.
  @Test(arguments: ["demo-keys", "repository"], 0..<5)
  func aCrashLeavesNothingHalfMade(_ name: String, _ round: Int) throws {
    let fixture = try CommandsFixture()
    let data = "\(fixture.folder)/.local/state/awd"
    let killed = try start(fixture)
    // Without a pause, so that the process dies at as many moments as possible.
    while killed.isRunning {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: data)) ?? []
      if names.contains(where: { $0.hasPrefix(name) }) { break }
    }
    killed.signal(SIGKILL)
    _ = try killed.ended()
    let whole = "\(DemoFile.all.count) files (\(DemoFile.all.count) served)"
    if FileManager.default.fileExists(atPath: "\(data)/repository") {
      let result = try fixture.spawn(CommandsFixture.program(), ["repo", "list"])
      #expect(result.output.contains(whole), "\(result)")
    }
    let process = try start(fixture)
    var listed = ""
    try blockUntil {
      listed = try fixture.spawn(CommandsFixture.program(), ["repo", "list"]).output
      return listed.contains(whole)
    }
    try process.terminate()
  }
}
