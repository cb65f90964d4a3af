internal import Configuration
internal import Foundation
internal import Observability
internal import Routing
internal import ServiceKit
internal import TestSupport
internal import Testing
internal import Platform

@testable import Commands

@Suite struct ProgramTests {
  @Test(arguments: [
    (["--help"], 0, "usage: awd COMMAND"),
    (["serve", "--help"], 0, "usage: awd serve [--config FILE]"),
    (["sample", "--help"], 0, "usage: awd sample COMMAND"),
    (["sample", "greet", "--help"], 0, "usage: awd sample greet [--config FILE] NAME"),
    (["sample", "greet", "all", "--help"], 0, "Greet everyone"),
    (["-h"], 0, "usage: awd COMMAND"), (["help"], 0, "usage: awd COMMAND"),
    (["help", "serve"], 0, "usage: awd serve [--config FILE]"),
    (["serve", "-h"], 0, "usage: awd serve [--config FILE]"),
    (["help", "sample", "greet"], 0, "usage: awd sample greet"), (["--version"], 0, "awd "),
    (["version"], 0, "awd "), (["sample", "greet", "Ann"], 0, "hello Ann"),
  ])
  func output(_ words: [String], _ code: Int32, _ text: String) async {
    let session = Session()
    #expect(await session.run(words) == code)
    #expect(session.output.contains(text) && session.errors.isEmpty)
  }

  @Test(arguments: [
    ([], "usage: awd COMMAND"), (["sample"], "usage: awd sample COMMAND"),
    (["nope"], "unknown command nope"),
    (["serv"], "did you mean `serve`?"), (["sample", "gret"], "did you mean `sample greet`?"),
    (["help", "nope"], "unknown command nope"), (["completion", "csh"], "bash, zsh or fish"),
    (["--nope"], "unknown option --nope"),
    (["sample", "nope"], "unknown command sample nope"),
    (["serve", "--nope"], "unknown option --nope"),
    (["serve", "x"], "unexpected argument x"), (["sample", "greet"], "NAME is missing"),
    (["check", "--config"], "try: awd check --help"),
  ])
  func usage(_ words: [String], _ text: String) async {
    let session = Session()
    #expect(await session.run(words) == 2)
    #expect(session.errors.contains(text) && session.output.isEmpty)
  }

  @Test func aCommandThatOpensTheStore() async throws {
    let folder = TemporaryFolder(["awd.toml": "[sample]\ngreeting = \"hi\"\n"])
    let file = "\(folder.path)/awd.toml"
    let unmade = Session()
    #expect(await unmade.run(["sample", "greet", "all", "--config", file]) == 1)
    #expect(unmade.errors.contains("there is no store at \(folder.path)/var/awd.sqlite3"))
    #expect(!DataFolder.exists("\(folder.path)/var"))
    try DataFolder.prepare("\(folder.path)/var")
    let configuration = try LoadedConfiguration(
      file: file, environment: [:], services: [SampleService.self])
    let served = try await ServiceRuntime.open(
      configuration, services: [SampleService.self], log: Log(level: .error), isServing: true)
    await served.close()
    let session = Session()
    #expect(
      await session.run(["sample", "greet", "all", "--config", "\(folder.path)/awd.toml"]) == 1)
    #expect(session.errors == "awd sample greet all: nobody is there")
    let greeted = Session()
    #expect(
      await greeted.run(["sample", "greet", "Bo", "--config", "\(folder.path)/awd.toml"]) == 0)
    #expect(greeted.output == "hi Bo")
  }

  @Test func errorsOfFilesAreSentences() {
    let folder = TemporaryFolder()
    let error = #expect(throws: CocoaError.self) {
      _ = try Data(contentsOf: URL(filePath: "\(folder.path)/none"))
    }
    #expect(
      error.map(Program.sentence)
        == "\(folder.path)/none: there is no such file or folder")
  }

  /// `--config` counts before `AWD_CONFIG`, and that before the machine's file.
  @Test func findsItsConfiguration() {
    let folder = TemporaryFolder(["awd.toml": ""])
    let machine = "\(folder.path)/awd.toml"
    for (option, variable, expected) in [
      ("a", "b", "a"), (nil, "b", "b"), (nil, nil, machine), (nil, "", machine),
    ] as [(String?, String?, String?)] {
      let file = CommandEnvironment.configurationFile(
        named: option, variable.map { ["AWD_CONFIG": $0] } ?? [:], machineFile: machine)
      #expect(file == expected)
    }
    #expect(
      CommandEnvironment.configurationFile(named: nil, [:], machineFile: "/nowhere/awd.toml") == nil
    )
  }

  /// A command that would work on another store than the one meant says so, and makes none.
  @Test func theDevelopmentSettingIsNamedAndNotMade() async {
    let home = TemporaryFolder()
    let session = Session()
    #expect(
      await session.run(["sample", "greet", "all"], environment: ["HOME": home.path]) == 1)
    let store = "\(home.path)/.local/state/awd/awd.sqlite3"
    #expect(session.errors.contains("this is the development setting, with the store \(store)"))
    #expect(session.errors.contains("there is no store at \(store)"))
    #expect(!DataFolder.exists("\(home.path)/.local"))
  }

  @Test func listsCommandsByTheThingThatTheyAreAbout() async {
    let lines = Lock<[String]>([])
    _ = await Program(services: [FirstService.self, SecondService.self]).run(
      ["--help"], environment: [:], print: { line in lines.withLock { $0.append(line) } },
      complain: { _ in })
    let overview = lines.withLock { $0.joined() }.split(separator: "\n")
    let names = overview.filter { $0.contains("Do nothing") }
      .map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
    #expect(names == ["first own", "guest first", "guest second", "second own"])
  }
}

/// A section without keys.
struct EmptyConfiguration: ServiceConfiguration {
  init(_ section: ConfigurationSection) {}
}

private protocol NamedService: Commanding {}

extension NamedService {
  func register(on router: inout Router) {}
}

private struct FirstService: NamedService {
  static let name = "first"
  static let commands: [any Command.Type] = [FirstOwn.self, GuestFirst.self]
  init(_ context: ServiceContext, _ configuration: EmptyConfiguration) async throws {}
}

private struct SecondService: NamedService {
  static let name = "second"
  static let commands: [any Command.Type] = [SecondOwn.self, GuestSecond.self]
  init(_ context: ServiceContext, _ configuration: EmptyConfiguration) async throws {}
}

private protocol IdleCommand: Command {}

extension IdleCommand {
  static var summary: String { "Do nothing" }
  static var parameters: [CommandParameter] { [] }
  static func run(_ context: CommandContext) async throws {}
}

private struct FirstOwn: IdleCommand { static let name = "first own" }
private struct SecondOwn: IdleCommand { static let name = "second own" }
private struct GuestFirst: IdleCommand { static let name = "guest first" }
private struct GuestSecond: IdleCommand { static let name = "guest second" }
