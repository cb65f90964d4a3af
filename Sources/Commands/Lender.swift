internal import Configuration
internal import Observability
internal import ServiceKit
internal import Threading

/// Opens for a command what it asks for, and closes it when the command is done.
final class Lender: Sendable {
  private let environment: [String: String]
  private let services: [any Service.Type]
  private let opened = Lock<[Workplace]>([])

  init(environment: [String: String], services: [any Service.Type]) {
    self.environment = environment
    self.services = services
  }

  func configuration(
    for service: any Service.Type, _ arguments: CommandArguments
  ) throws -> ConfigurationSection {
    try load(for: service, arguments).section(of: service)
  }

  func serviceContext(
    for service: any Service.Type, _ arguments: CommandArguments, _ onlyToRead: Bool
  ) async throws -> ServiceContext {
    let workplace = try await Workplace.open(
      try load(for: service, arguments), services: services, log: Log(level: .warning),
      onlyToRead: onlyToRead)
    opened.withLock { $0.append(workplace) }
    return try workplace.context(for: service)
  }

  func close() async {
    let workplaces = opened.withLock { opened in
      defer { opened = [] }
      return opened
    }
    for workplace in workplaces { await workplace.close() }
  }

  private func load(
    for service: any Service.Type, _ arguments: CommandArguments
  ) throws(ConfigurationError) -> LoadedConfiguration {
    try LoadedConfiguration(
      file: arguments["config"], environment: environment, services: services, including: [service])
  }
}
