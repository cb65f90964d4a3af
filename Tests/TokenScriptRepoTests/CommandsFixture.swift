internal import Configuration
internal import Foundation
internal import Observability
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Platform

@testable import TokenScriptRepo

/// A temporary folder with a repository and keys, in which commands run.
final class CommandsFixture: Sendable {
  private let temporary = TemporaryFolder()

  var folder: String { temporary.path }
  var root: String { "\(folder)/repository" }

  init(_ files: [String: [UInt8]] = [:]) throws {
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    for (path, bytes) in files { try write("repository/\(path)", bytes) }
    // A port of its own: `awd check` finds one that is in use wrong.
    try write(
      "awd.toml",
      "[server]\nlisten = [\"127.0.0.1:0\"]\n[tokenscript]\nrepository = \"repository\"\n")
  }

  @discardableResult
  func write(_ path: String, _ bytes: [UInt8]) throws -> String {
    try temporary.write(path, bytes)
  }

  @discardableResult
  func write(_ path: String, _ text: String) throws -> String { try write(path, Array(text.utf8)) }

  func read(_ path: String) throws -> [UInt8] { try temporary.read(path) }

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
    let configuration = { @Sendable in
      let text =
        "[server]\ndata = \"\(self.folder)/data\"\n[tokenscript]\nrepository = \"\(self.root)\"\n"
      let document = try ConfigurationDocument(
        parsing: Array((text + toml).utf8), file: "/test.toml")
      var configuration = TokenScriptConfiguration(
        ConfigurationReader(document).section("tokenscript"))
      configuration.schemaProgram = nil
      return configuration
    }
    let context = CommandContext(
      arguments: try CommandArguments(words, for: command.parameters),
      services: [TokenScriptService.self], environment: environment,
      print: { line in printed.withLock { $0.append(line) } },
      readConfiguration: { _, _ in try configuration() },
      openService: { _, _, _ in
        ServiceContext(
          store: try await Store.open(.memory, migrations: TokenScriptService.migrations),
          log: Log(level: .error), dataFolder: "\(self.folder)/data")
      })
    try await command.run(context)
    return printed.withLock { $0.joined(separator: "\n") }
  }

  /// Runs another program in the folder, which is its user's home too.
  func spawn(_ program: String, _ words: [String]) throws -> ChildProcess.Outcome {
    try ChildProcess.run(program, words, in: folder, home: folder)
  }

  static func program() throws -> String { try ChildProcess.built("awd") }
}
