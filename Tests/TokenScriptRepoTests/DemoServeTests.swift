internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

/// Tests of the demo that `awd serve` makes, and of the requests that it suggests.
@Suite(.ownThreads) struct DemoServeTests {
  private func start(_ fixture: CommandsFixture) throws -> (process: Process, output: Pipe) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try CommandsFixture.program())
    process.arguments = ["serve"]
    process.environment = ChildEnvironment.inherited.merging([
      "HOME": fixture.folder, "AWD_SERVER_LISTEN": "127.0.0.1:0",
    ]) { $1 }
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    return (process, output)
  }

  @Test func everySuggestionDoesWhatItSays() throws {
    let fixture = try CommandsFixture()
    let (process, output) = try start(fixture)
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    let isDone = Once()
    defer { isDone.set() }
    var text = ""
    // The last suggestion is recognized by its path.
    // If there is no suggestion, the end of the output ends the test.
    DispatchQueue.global().asyncAfter(deadline: .now() + 120) { [pid = process.processIdentifier] in
      if !isDone.isSet { kill(pid, SIGKILL) }
    }
    while !(text.contains("/service.json'\n\n")) {
      let data = output.fileHandleForReading.availableData
      guard !data.isEmpty else { break }
      text += String(decoding: data, as: UTF8.self)
    }
    let lines = text.split(separator: "\n")
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
    let (killed, _) = try start(fixture)
    while killed.isRunning {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: data)) ?? []
      if names.contains(where: { $0.hasPrefix(name) }) { break }
    }
    kill(killed.processIdentifier, SIGKILL)
    killed.waitUntilExit()
    let whole = "\(DemoFile.all.count) files (\(DemoFile.all.count) served)"
    if FileManager.default.fileExists(atPath: "\(data)/repository") {
      let result = try fixture.spawn(CommandsFixture.program(), ["repo", "list"])
      #expect(result.output.contains(whole), "\(result)")
    }
    let (process, _) = try start(fixture)
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    var listed = ""
    for _ in 0..<3_000 where !listed.contains(whole) {
      usleep(20_000)
      listed = try fixture.spawn(CommandsFixture.program(), ["repo", "list"]).output
    }
    #expect(listed.contains(whole), "\(listed)")
  }
}

private final class Once: Sendable {
  private let flag = Atomic<Bool>(false)
  var isSet: Bool { flag.load(ordering: .relaxed) }
  func set() { flag.store(true, ordering: .relaxed) }
}
