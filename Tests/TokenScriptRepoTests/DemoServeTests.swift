import Foundation
import Testing

@testable import TokenScriptRepo

/// The demo as `awd serve` makes it and suggests to try it.
@Suite struct DemoServeTests {
  private func start(_ fixture: CommandsFixture) throws -> (process: Process, output: Pipe) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try CommandsFixture.program())
    process.arguments = ["serve"]
    process.environment = ["HOME": fixture.folder, "AWD_SERVER_LISTEN": "127.0.0.1:0"]
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
    var text = ""
    // The last one is told by what comes of it.
    while !(text.contains("  404, ") && text.hasSuffix("'\n\n")) {
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
    #expect(codes == ["200", "304", "300", "200", "404"])
  }

  /// Wherever the process is killed, there is the whole demo or none.
  @Test func aCrashLeavesNothingHalfMade() throws {
    let fixture = try CommandsFixture()
    let data = "\(fixture.folder)/.local/state/awd"
    for delay in [20, 40, 60, 80, 120, 160, 240] {
      try? FileManager.default.removeItem(atPath: data)
      let (process, _) = try start(fixture)
      usleep(UInt32(delay) * 1000)
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      guard FileManager.default.fileExists(atPath: "\(data)/repository") else { continue }
      let result = try fixture.spawn(CommandsFixture.program(), ["repo", "list"])
      #expect(result.output.contains("\(DemoFile.all.count) files (\(DemoFile.all.count) served)"))
    }
    // Over whatever the last one left.
    let (process, output) = try start(fixture)
    _ = output.fileHandleForReading.availableData
    process.terminate()
    process.waitUntilExit()
    let result = try fixture.spawn(CommandsFixture.program(), ["repo", "list"])
    #expect(result.output.contains("\(DemoFile.all.count) files (\(DemoFile.all.count) served)"))
  }
}
