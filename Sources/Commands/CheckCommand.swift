import Configuration
import ServiceKit

/// `awd check`: reads the configuration as `awd serve` would, and changes nothing.
struct CheckCommand: Command {
  static let name = "check"
  static let summary = "Check the configuration, and print the values in effect"
  static let parameters = [CommandParameter.configuration, .json]

  private struct Report: Encodable {
    struct Setting: Encodable {
      let key: String
      let value: String
      let origin: String
    }

    struct Problem: Encodable {
      let key: String
      let origin: String
      let message: String
    }

    let valid: Bool
    let file: String?
    var settings: [Setting] = []
    var problems: [Problem] = []
  }

  static func run(_ context: CommandContext) async throws {
    let file = context.arguments["config"]
    let isJSON = context.arguments.has("json")
    do {
      let configuration = try LoadedConfiguration(
        file: file, environment: context.environment, services: context.services)
      if isJSON {
        let settings = configuration.settings.map {
          Report.Setting(key: $0.key, value: $0.value, origin: "\($0.origin)")
        }
        try context.print(json: Report(valid: true, file: file, settings: settings))
      } else {
        if file == nil { context.print("# no configuration file: the development setting") }
        for setting in configuration.settings { context.print("\(setting)") }
      }
    } catch let error as ConfigurationError {
      if isJSON {
        let problems = error.problems.map {
          Report.Problem(key: $0.key, origin: "\($0.origin)", message: $0.message)
        }
        try context.print(json: Report(valid: false, file: file, problems: problems))
      }
      throw CommandError.refused("the configuration is not valid\n\(error)")
    }
  }
}
