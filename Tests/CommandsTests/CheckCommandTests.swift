internal import Configuration
internal import Foundation
internal import HTTPProtocol
internal import Routing
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import Commands

/// A service with one key of its own and one route.
struct SampleService: Commanding {
  struct Configuration: Checking, BackedUp {
    let greeting: String
    private let dataFolder: String

    init(_ section: ConfigurationSection) {
      greeting = section.string("greeting", default: "hello")
      dataFolder = section.dataFolder
    }

    func findings(isExposed: Bool) async -> [ContentFinding] {
      switch greeting {
      case "hello": []
      case "hi": [ContentFinding(.doubtful, "rather short")]
      default: [ContentFinding(.good, "a greeting"), ContentFinding(.wrong, "not in the list")]
      }
    }

    var keyFiles: [String: String] { ["key": "\(dataFolder)/secret"] }

    var contentFolders: [String] { ["\(dataFolder)/greetings"] }
  }

  static let name = "sample"
  private let greeting: String

  init(_ context: ServiceContext, _ configuration: Configuration) async throws {
    greeting = configuration.greeting
    if greeting == "fail" { throw HTTPError(.badRequest, "told to fail") }
  }

  func register(on router: inout Router) {
    router.get("/greeting") { [greeting] _, _ in
      Response(.ok, type: "text/plain", text: greeting)
    }
  }

  static let commands: [any Command.Type] = [GreetCommand.self, GreetAllCommand.self]
}

struct GreetCommand: Command {
  static let name = "sample greet"
  static let summary = "Greet someone"
  static let parameters: [CommandParameter] = [.configuration, .operand("NAME", "who")]

  static func run(_ context: CommandContext) async throws {
    let configuration = try context.configuration(for: SampleService.self)
    context.print("\(configuration.greeting) \(context.arguments.operands[0])")
  }
}

struct GreetAllCommand: Command {
  static let name = "sample greet all"
  static let summary = "Greet everyone in the store"
  static let parameters: [CommandParameter] = [.configuration]

  static func run(_ context: CommandContext) async throws {
    let context = try await context.serviceContext(for: SampleService.self)
    try await context.store.write { _ in }
    throw CommandError.refused("nobody is there")
  }
}

/// A program that runs in this process, with its output.
final class Session: Sendable {
  /// An environment for `awd check`, which finds the usual port wrong if something listens there.
  static let listeningElsewhere = ["HOME": "/nowhere", "AWD_SERVER_LISTEN": "127.0.0.1:0"]

  private let lines = Lock<(output: [String], errors: [String])>(([], []))

  var output: String { lines.withLock { $0.output.joined(separator: "\n") } }
  var errors: String { lines.withLock { $0.errors.joined(separator: "\n") } }

  func run(_ words: [String], environment: [String: String] = ["HOME": "/nowhere"]) async -> Int32 {
    await Program(services: [SampleService.self], machineFile: "/nowhere/awd.toml").run(
      words, environment: environment,
      print: { line in self.lines.withLock { $0.output.append(line) } },
      complain: { line in self.lines.withLock { $0.errors.append(line) } }
    ).rawValue
  }
}

@Suite struct CheckCommandTests {
  @Test func valuesWithTheirOrigin() async throws {
    let folder = TemporaryFolder([
      "awd.toml":
        "[server]\nthreads = 3\n\n[sample]\ngreeting = \"hi\"\nhosts = [\"Repo.example\"]\n"
    ])
    let session = Session()
    let file = "\(folder.path)/awd.toml"
    let environment = Session.listeningElsewhere.merging(["AWD_LOG_LEVEL": "debug"]) { $1 }
    #expect(
      await session.run(["check", "--verbose", "--config", file], environment: environment) == 0)
    for line in [
      "server.threads = 3  # \(file):2:11", "sample.greeting = \"hi\"  # \(file):5:12",
      "sample.hosts = [\"repo.example\"]  # \(file):6:9", "log.level = \"debug\"  # AWD_LOG_LEVEL",
      "log.format = \"text\"  # default", "server.data = \"\(folder.path)/var\"  # default",
    ] {
      #expect(session.output.split(separator: "\n").contains { $0 == line }, "\(line)")
    }
    #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/var"))
  }

  @Test func allProblemsAtOnce() async throws {
    let folder = TemporaryFolder([
      "awd.toml": """
      [server]
      threads = "many"
      services = ["sampel"]
      listen = ["https://127.0.0.1:1"]
      [sample]
      greting = 1
      hosts = ["a/b", "c:80"]
      """
    ])
    for json in [false, true] {
      let session = Session()
      let file = "\(folder.path)/awd.toml"
      let code =
        await json
        ? session.run(["check", "--json", "--config", file])
        : session.run(["check", "--verbose", "--config", file])
      #expect(code == 1)
      for part in ["awd.toml:2:11", "awd.toml:3:13", "\"sample\"", "awd.toml:4", "`tls`"] {
        #expect(session.errors.contains(part), "\(part)")
      }
      guard json else { continue }
      let report = try #require(
        try JSONSerialization.jsonObject(with: Data(session.output.utf8)) as? [String: Any])
      #expect(report["valid"] as? Bool == false)
      #expect((report["problems"] as? [[String: String]])?.count ?? 0 >= 3)
    }
  }

  @Test func aServicesOwnSectionIsChecked() async throws {
    let folder = TemporaryFolder([
      "awd.toml": "[sample]\ngreting = 1\nhosts = [\"a/b\", \"c:80\"]\n"
    ])
    let session = Session()
    #expect(await session.run(["check", "--verbose", "--config", "\(folder.path)/awd.toml"]) == 1)
    #expect(session.errors.contains("awd.toml:2:1: sample.greting: unknown key"))
    #expect(session.errors.contains("awd.toml:3:10"))
    #expect(session.errors.contains("awd.toml:3:17"))
  }

  @Test func settingsAsJSON() async throws {
    let session = Session()
    #expect(
      await session.run(["check", "--json"], environment: Session.listeningElsewhere) == 0)
    let report = try #require(
      try JSONSerialization.jsonObject(with: Data(session.output.utf8)) as? [String: Any])
    #expect(report["valid"] as? Bool == true)
    let settings = try #require(report["settings"] as? [[String: String]])
    #expect(
      settings.contains([
        "key": "server.data", "value": "\"/nowhere/.local/state/awd\"", "origin": "default",
      ]))
  }

  @Test(arguments: [
    ("hi", 0, "# sample: doubtful: rather short"),
    ("bonjour", 1, "# sample: good: a greeting\n# sample: wrong: not in the list"),
  ])
  func contentIsCheckedToo(_ greeting: String, _ code: Int32, _ lines: String) async throws {
    let folder = TemporaryFolder(["awd.toml": "[sample]\ngreeting = \"\(greeting)\"\n"])
    let session = Session()
    let file = "\(folder.path)/awd.toml"
    let environment = Session.listeningElsewhere
    #expect(
      await session.run(["check", "--verbose", "--config", file], environment: environment) == code)
    #expect(session.output.hasSuffix(lines))
    #expect(session.errors.isEmpty == (code == 0))
    let json = Session()
    #expect(
      await json.run(["check", "--json", "--config", file], environment: environment) == code)
    let report = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
    #expect(report?["valid"] as? Bool == (code == 0))
    #expect((report?["content"] as? [[String: String]])?.last?["service"] == "sample")
  }
}
