/// The arguments of a command, and its ways to reach the rest of the program.
package struct CommandContext: Sendable {
  /// Reads what ``configuration(for:)`` returns.
  package typealias ReadConfiguration =
    @Sendable (any Service.Type, CommandArguments) throws -> any ServiceConfiguration
  /// Opens what ``serviceContext(for:onlyToRead:)`` returns; the last argument is `onlyToRead`.
  package typealias OpenService =
    @Sendable (any Service.Type, CommandArguments, _ onlyToRead: Bool) async throws
    -> ServiceContext

  /// The arguments, sorted by the command's parameters.
  package let arguments: CommandArguments
  /// All services that are built in, switched on or not.
  package let services: [any Service.Type]
  /// The environment variables.
  package let environment: [String: String]
  /// Writes a line to standard output.
  package let print: @Sendable (String) -> Void
  private let readConfiguration: ReadConfiguration
  private let openService: OpenService

  /// Makes a context.
  ///
  /// - Parameters:
  ///   - arguments: the command's arguments.
  ///   - services: all services that are built in.
  ///   - environment: the environment variables.
  ///   - print: writes a line to standard output.
  ///   - readConfiguration: makes the result of ``configuration(for:)``.
  ///   - openService: makes the result of ``serviceContext(for:onlyToRead:)``.
  package init(
    arguments: CommandArguments, services: [any Service.Type], environment: [String: String],
    print: @escaping @Sendable (String) -> Void,
    readConfiguration: @escaping ReadConfiguration, openService: @escaping OpenService
  ) {
    (self.arguments, self.services, self.environment) = (arguments, services, environment)
    (self.print, self.readConfiguration, self.openService) = (print, readConfiguration, openService)
  }

  /// Reads a service's section of the configuration that `--config` names, and opens nothing.
  ///
  /// - Parameter service: the service, switched on or not.
  /// - Returns: its values.
  /// - Throws: the configuration's problems.
  package func configuration<S: Service>(for service: S.Type) throws -> S.Configuration {
    guard let configuration = try readConfiguration(service, arguments) as? S.Configuration else {
      throw CommandError.refused("\(service.name) has no configuration")
    }
    return configuration
  }

  /// Opens what `awd serve` with the same `--config` would give to a service, the store included.
  ///
  /// For commands that work on the service's data, with a running server beside them or without one.
  ///
  /// - Parameters:
  ///   - service: the service, switched on or not.
  ///   - onlyToRead: whether a missing store is replaced by an empty one in memory. No file is made then that a
  ///     server of another user could not open.
  /// - Returns: the context, which is closed when the command ends.
  /// - Throws: the configuration's problems, or the store's.
  package func serviceContext(
    for service: any Service.Type, onlyToRead: Bool = false
  ) async throws -> ServiceContext { try await openService(service, arguments, onlyToRead) }
}
