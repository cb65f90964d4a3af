internal import Observability
internal import ServiceKit
internal import Storage

/// `awd keys replace`: has this machine's key files count for all nodes of a database.
struct KeysReplaceCommand: Command {
  static let name = "keys replace"
  static let summary =
    "Have all nodes of a PostgreSQL database take this machine's key files for the right ones"
  static let parameters = [CommandParameter.configuration]

  static func run(_ context: CommandContext) async throws {
    let configuration = try LoadedConfiguration(context, including: context.services)
    guard case .postgreSQL = configuration.store else {
      throw CommandError.refused("the store is a file: its server takes the key files as they are")
    }
    let runtime = try await ServiceRuntime.open(
      configuration, services: context.services, log: Log(level: .warning))
    try await closing(runtime.close) { try await runtime.node.compareKeys(replacing: true) }
    context.print(
      "the key files of this machine count from now on; nodes with other ones don't start any more")
  }
}
