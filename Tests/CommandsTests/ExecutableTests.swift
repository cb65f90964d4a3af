internal import Foundation
internal import TestSupport
internal import Testing

/// The built program as users run it: exit codes, streams, signals.
@Suite(.ownThreads) struct ExecutableTests {
  /// Starts the program.
  ///
  /// - Parameters:
  ///   - words: its arguments.
  ///   - folder: its user's home.
  ///   - environment: further variables.
  /// - Returns: the process, its output and its errors.
  static func start(
    _ words: [String], in folder: Folder, _ environment: [String: String] = [:]
  ) throws -> (Process, Pipe, Pipe) {
    let process = Process()
    // The tests are linked beside the program.
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    process.executableURL = URL(fileURLWithPath: tests).deletingLastPathComponent()
      .appendingPathComponent("awd")
    process.arguments = words
    process.environment = ChildEnvironment.inherited.merging(["HOME": folder.path]) { $1 }
      .merging(environment) { $1 }
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    return (process, output, errors)
  }

  @Test(arguments: [
    (["version"], 0, "awd ", ""), (["--help"], 0, "usage: awd", ""),
    (["check"], 0, "server.listen = ", ""),
    (["check", "--config", "good.toml"], 0, "threads = 2", ""),
    (["check", "--config", "bad.toml"], 1, "", "bad.toml:2:1: server.thread: unknown key"),
    (["check", "--config", "none.toml"], 1, "", "none.toml"),
    (["serve", "--config", "bad.toml"], 1, "", "did you mean `threads`?"),
    (["serve", "--config", "unwritable.toml"], 1, "", "data folder /proc/awd"),
    (["nonsense"], 2, "", "try: awd --help"), ([], 2, "", "usage: awd"),
  ])
  func exits(_ words: [String], _ code: Int32, _ output: String, _ errors: String) throws {
    let folder = try Folder([
      "good.toml": "[server]\nthreads = 2\n", "bad.toml": "[server]\nthread = 2\n",
      "unwritable.toml": "[server]\ndata = \"/proc/awd\"\n",
    ])
    let words = words.map { $0.hasSuffix(".toml") ? "\(folder.path)/\($0)" : $0 }
    let (process, out, err) = try Self.start(words, in: folder)
    let written = String(decoding: out.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let told = String(decoding: err.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == code)
    #expect(output.isEmpty ? written.isEmpty : written.contains(output))
    #expect(errors.isEmpty ? told.isEmpty : told.contains(errors))
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func servesUntilTheSignal(_ signal: Int32) throws {
    let folder = try Folder(["awd.toml": "[server]\nlisten = [\"127.0.0.1:0\"]\n"])
    let (process, _, err) = try Self.start(
      ["serve", "--config", "\(folder.path)/awd.toml"], in: folder)
    defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
    var told = ""
    while !told.contains("listening at=http://127.0.0.1:") {
      let data = err.fileHandleForReading.availableData
      guard !data.isEmpty else { break }
      told += String(decoding: data, as: UTF8.self)
    }
    #expect(told.contains("is running"))
    kill(process.processIdentifier, SIGHUP)
    kill(process.processIdentifier, signal)
    told += String(decoding: err.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    #expect(told.contains("reloaded") && told.hasSuffix("stopped\n"))
  }
}
