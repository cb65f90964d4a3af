internal import Configuration
internal import Observability
internal import ServiceKit
internal import Platform

/// Opens what one command asks for, and closes it when the command is done.
final class CommandEnvironment: Sendable {
  private let variables: [String: String]
  private let services: [any Service.Type]
  private let opened = Lock<[ServiceRuntime]>([])
  /// The configurations that were read, by the service that they include.
  private let loaded = Lock<[String: LoadedConfiguration]>([:])

  /// Makes an environment in which nothing is open.
  ///
  /// - Parameter services: all services that are built in.
  init(variables: [String: String], services: [any Service.Type]) {
    self.variables = variables
    self.services = services
  }

  /// Reads a service's section of the configuration that the arguments name. See
  /// ``CommandContext/configuration(for:)``.
  func configuration(
    for service: any Service.Type, _ arguments: CommandArguments
  ) throws -> any ServiceConfiguration {
    try load(for: service, arguments).configuration(of: service)
  }

  /// Opens the store for a service. See ``CommandContext/serviceContext(for:onlyToRead:)``.
  func serviceContext(
    for service: any Service.Type, _ arguments: CommandArguments, _ onlyToRead: Bool
  ) async throws -> ServiceContext {
    let runtime = try await ServiceRuntime.open(
      try load(for: service, arguments), services: services, log: Log(level: .warning),
      onlyToRead: onlyToRead)
    opened.withLock { $0.append(runtime) }
    return runtime.context(for: service)
  }

  /// Closes every store that was opened.
  func close() async { for runtime in opened.withLock(\.self) { await runtime.close() } }

  private func load(
    for service: any Service.Type, _ arguments: CommandArguments
  ) throws(ConfigurationError) -> LoadedConfiguration {
    if let known = loaded.withLock({ $0[service.name] }) { return known }
    let configuration = try LoadedConfiguration(
      file: arguments["config"], environment: variables, services: services, including: [service])
    loaded.withLock { $0[service.name] = configuration }
    return configuration
  }
}

/// Does something, and then closes what it has used, also if it has failed.
func closing(_ close: () async -> Void, after body: () async throws -> Void) async throws {
  do { try await body() } catch {
    await close()
    throw error
  }
  await close()
}
