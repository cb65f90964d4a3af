internal import Configuration
internal import Foundation
internal import Observability
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Threading

@testable import TokenScriptRepo

/// A temporary folder with a repository and keys, in which commands run.
final class CommandsFixture: Sendable {
  let folder: String

  var root: String { "\(folder)/repository" }

  init(_ files: [String: [UInt8]] = [:]) throws {
    folder = NSTemporaryDirectory() + "awd-commands-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    for (path, bytes) in files { try write("repository/\(path)", bytes) }
    try write("awd.toml", "[tokenscript]\nrepository = \"repository\"\n")
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  @discardableResult
  func write(_ path: String, _ bytes: [UInt8]) throws -> String {
    let url = URL(fileURLWithPath: "\(folder)/\(path)")
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
    return url.path
  }

  @discardableResult
  func write(_ path: String, _ text: String) throws -> String { try write(path, Array(text.utf8)) }

  func read(_ path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(path)")))
  }

  func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: "\(folder)/\(path)")
  }

  /// Returns every path below a folder.
  func paths(below path: String = "") throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: "\(folder)/\(path)").sorted()
  }

  /// Runs a command in this process.
  ///
  /// - Returns: the command's output.
  func run(
    _ command: any Command.Type, _ words: [String], toml: String = "",
    environment: [String: String] = [:]
  ) async throws -> String {
    let printed = Lock<[String]>([])
    let section = { @Sendable in
      let text =
        "[server]\ndata = \"\(self.folder)/data\"\n[tokenscript]\nrepository = \"\(self.root)\"\n"
      let document = try ConfigurationDocument(
        parsing: Array((text + toml).utf8), file: "/test.toml")
      return ConfigurationReader(document).section("tokenscript")
    }
    let context = CommandContext(
      arguments: try CommandArguments(words, for: command.parameters),
      services: [TokenScriptService.self], environment: environment,
      print: { line in printed.withLock { $0.append(line) } },
      readConfiguration: { _, _ in try section() },
      openService: { _, _, _ in
        ServiceContext(
          configuration: try section(),
          store: try await Store.open(.memory, migrations: TokenScriptService.migrations),
          log: Log(level: .error), dataFolder: "\(self.folder)/data")
      })
    try await command.run(context)
    return printed.withLock { $0.joined(separator: "\n") }
  }

  /// Runs another program in the folder.
  func spawn(
    _ program: String, _ words: [String]
  ) throws -> (status: Int32, output: String, errors: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + words
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.environment = ChildEnvironment.inherited.merging(["HOME": folder]) { $1 }
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    // Both are read at once, as a program that waits for room in one pipe would never end the other.
    let told = Lock("")
    let telling = DispatchGroup()
    DispatchQueue.global().async(group: telling) {
      let bytes = errors.fileHandleForReading.readDataToEndOfFile()
      told.withLock { $0 = String(decoding: bytes, as: UTF8.self) }
    }
    let printed = output.fileHandleForReading.readDataToEndOfFile()
    telling.wait()
    process.waitUntilExit()
    return (
      process.terminationStatus, String(decoding: printed, as: UTF8.self), told.withLock { $0 }
    )
  }

  /// Returns the path of the built program, which is beside the tests.
  static func program() throws -> String {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("awd")
      .path
  }
}
