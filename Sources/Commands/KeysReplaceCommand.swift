internal import Observability
internal import ServiceKit
internal import Storage

/// `awd keys replace`: has the store depend on this machine's files of keys, as those before are lost.
struct KeysReplaceCommand: Command {
  static let name = "keys replace"
  static let summary =
    "Accept this machine's key files for good where those that the store depends on are lost"
  static let parameters: [CommandParameter] = [.configuration, .json]

  private struct Report: Encodable {
    let accepted: [String]
    let missing: [String]
  }

  static func run(_ context: CommandContext) async throws {
    let configuration = try LoadedConfiguration(context, including: context.services)
    try configuration.prepareForCommand(warn: context.warn)
    let runtime = try await ServiceRuntime.open(
      configuration, services: context.services, log: Log(level: .warning))
    try await closing(runtime.close) {
      let (accepted, missing) = try await runtime.node.replaceKeys()
      try context.print(json: Report(accepted: accepted, missing: missing)) {
        for name in accepted { context.print("\(name): this machine's file counts from now on") }
        for name in missing { context.print("\(name): the next start makes new keys") }
        context.print("Nodes with other files don't start any more, and devices have to link anew.")
      }
    }
  }
}
