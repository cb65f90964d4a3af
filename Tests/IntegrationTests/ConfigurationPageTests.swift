internal import Foundation
internal import TestSupport
internal import Testing

/// The guide's page of the configuration, compared with the keys that the program reads.
@Suite struct ConfigurationPageTests {
  private struct Report: Decodable {
    struct Setting: Decodable {
      let key: String
      let value: String
    }
    let settings: [Setting]
  }

  /// Tables whose keys the operator chooses, so that none is read where none is given.
  private static let chosen: Set = ["tokenscript.chains", "tokenscript.clients"]

  /// Defaults that the page gives in words: those of this machine, and one that is too long.
  private static let inWords = [
    "server.services": "all but `pushserver`",
    "tokenscript.schemas": "`<data>/schemas`, if that is there",
    "tokenscript.explorers": "those of 18 chains", "msgr.password_threads": "cores − 1",
  ]

  @Test func everyKeyStandsInThePageWithItsDefault() async throws {
    let folder = TemporaryFolder()
    // The push server is off by default, and needs two keys.
    let pushServer = """
      server = { services = ["pushserver"], public_url = "https://push.example" }
      pushserver = { push = "log", relay_key = "\(String(repeating: "a5", count: 32))" }
      """
    let given: Set = ["pushserver.push", "pushserver.relay_key"]
    let settings =
      try await Self.settings(of: "", in: folder)
      + Self.settings(of: pushServer, in: folder).filter { $0.key.hasPrefix("pushserver.") }
    let told = try Self.page()
    for setting in settings where !given.contains(setting.key) {
      let written = told[setting.key]
      if let words = Self.inWords[setting.key] {
        #expect(written == words, "\(setting.key)")
      } else {
        let value = setting.value.replacing("\(folder.path)/var/", with: "<data>/")
          .replacing("\(folder.path)/", with: "")
        #expect(written.map(Self.plain) == Self.plain(value), "\(setting.key)")
      }
    }
    let read = Set(settings.map(\.key)).union(Self.chosen)
    #expect(Set(told.keys).subtracting(read) == [], "the page has keys that nothing reads")
  }

  /// Returns the settings that `awd check` reports of a configuration.
  private static func settings(
    of toml: String, in folder: TemporaryFolder
  ) async throws -> [Report.Setting] {
    try folder.write("awd.toml", toml)
    let outcome = try await ChildProcess.run(
      try ChildProcess.built("awd"), ["check", "--json", "--config", "\(folder.path)/awd.toml"])
    return try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8)).settings
  }

  /// Returns a default without its quotes, the data folder, to which the page's paths are relative, and the scheme that
  /// addresses have without TLS.
  private static func plain(_ text: String) -> String {
    text.replacing("`", with: "").replacing("\"", with: "").replacing("<data>/", with: "")
      .replacing("http://", with: "")
  }

  /// Returns the default of each key in the page's tables, as it is written there. A row with one default has it for all
  /// of its keys.
  private static func page() throws -> [String: String] {
    let path = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/awd/awd.docc/Configuration.md").standardized.path
    var prefixes: [String] = []
    var found: [String: String] = [:]
    for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
      if line.hasPrefix("## ") {
        let title = String(line.dropFirst(3))
        prefixes =
          switch title {
          case "server", "tokenscript", "msgr", "apptimist", "pushserver": [title + "."]
          case "Every service": ["tokenscript.", "msgr.", "apptimist.", "pushserver."]
          default: [""]
          }
      }
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard line.hasPrefix("| `"), cells.count > 2 else { continue }
      let keys = cells[0].matches(of: /`([^`]+)`/).map { String($0.output.1) }
      let defaults = cells[1].split(separator: ", `").map(String.init)
      for (index, key) in keys.enumerated() {
        let value = defaults.count == keys.count ? defaults[index] : cells[1]
        for prefix in prefixes {
          #expect(
            found.updateValue(value, forKey: prefix + key) == nil, "\(prefix + key) stands twice")
        }
      }
    }
    return found
  }
}
