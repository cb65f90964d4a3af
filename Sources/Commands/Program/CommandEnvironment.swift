internal import Configuration
internal import Observability
internal import Platform
internal import ServiceKit

/// Opens what one command asks for, and closes it when the command is done.
final class CommandEnvironment: Sendable {
  /// The configuration file of a machine, which counts if nothing else names one.
  static let machineFile = "/etc/awd/awd.toml"

  /// The configuration file, or nil for the development setting.
  let file: String?
  private let variables: [String: String]
  private let services: [any Service.Type]
  private let warn: @Sendable (String) -> Void
  private let opened = Lock<[ServiceRuntime]>([])
  /// The configurations that were read, by the service that they include.
  private let loaded = Lock<[String: LoadedConfiguration]>([:])

  /// Makes an environment in which nothing is open.
  ///
  /// - Parameter file: the configuration file, or nil for the development setting.
  init(
    file: String?, variables: [String: String], services: [any Service.Type],
    warn: @escaping @Sendable (String) -> Void
  ) {
    self.file = file
    self.variables = variables
    self.services = services
    self.warn = warn
  }

  /// Finds the configuration file: the one that an option names, then that of `AWD_CONFIG`, then the machine's.
  ///
  /// - Returns: the path, or nil for the development setting.
  static func configurationFile(
    named option: String?, _ variables: [String: String], machineFile: String
  ) -> String? {
    if let option { return option }
    if let variable = variables[ConfigurationDocument.fileVariable], !variable.isEmpty {
      return variable
    }
    return DataFolder.exists(machineFile) ? machineFile : nil
  }

  /// Reads a service's section of the configuration. See ``CommandContext/configuration(for:)``.
  func configuration(
    for service: any Service.Type, _ arguments: CommandArguments
  ) throws -> any ServiceConfiguration {
    try load(for: service).configuration(of: service)
  }

  /// Opens the store for a service. See ``CommandContext/serviceContext(for:onlyToRead:)``.
  func serviceContext(
    for service: any Service.Type, _ arguments: CommandArguments, _ onlyToRead: Bool
  ) async throws -> ServiceContext {
    let configuration = try load(for: service)
    try configuration.prepareForCommand(warn: warn)
    let runtime = try await ServiceRuntime.open(
      configuration, services: services, log: Log(level: .warning), onlyToRead: onlyToRead)
    opened.withLock { $0.append(runtime) }
    return runtime.context(for: service)
  }

  /// Closes every store that was opened.
  func close() async { for runtime in opened.withLock(\.self) { await runtime.close() } }

  private func load(
    for service: any Service.Type
  ) throws(ConfigurationError) -> LoadedConfiguration {
    if let known = loaded.withLock({ $0[service.name] }) { return known }
    let configuration = try LoadedConfiguration(
      file: file, environment: variables, services: services, including: [service])
    loaded.withLock { $0[service.name] = configuration }
    return configuration
  }
}

extension LoadedConfiguration {
  /// Says which store a command uses if no configuration names it, and goes on as the data's owner; to be called before a
  /// command opens the data.
  func prepareForCommand(warn: (String) -> Void) throws(CommandError) {
    if file == nil {
      warn(
        "\(Product.name): no configuration was given and \(CommandEnvironment.machineFile) isn't there: "
          + "this is the development setting, with the store \(server.store.name)")
    }
    try DataOwner(of: server.data, configuredIn: file)?.become()
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
