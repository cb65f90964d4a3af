public import Configuration

/// What the program lends a command.
public struct CommandContext: Sendable {
  /// The arguments, as its parameters say.
  public let arguments: CommandArguments
  /// All services that are built in, switched on or not.
  public let services: [any Service.Type]
  /// The environment variables.
  public let environment: [String: String]
  /// Writes a line to standard output.
  public let print: @Sendable (String) -> Void
  private let configure:
    @Sendable (any Service.Type, CommandArguments) throws -> ConfigurationSection
  private let lend: Lend

  /// Opens what ``serviceContext(for:onlyToRead:)`` returns; the last argument is `onlyToRead`.
  public typealias Lend =
    @Sendable (any Service.Type, CommandArguments, Bool) async throws -> ServiceContext

  /// A context.
  ///
  /// - Parameters:
  ///   - arguments: the command's arguments.
  ///   - services: all services that are built in.
  ///   - environment: the environment variables.
  ///   - print: writes a line to standard output.
  ///   - configure: makes what ``configuration(for:)`` returns.
  ///   - lend: makes what ``serviceContext(for:onlyToRead:)`` returns.
  public init(
    arguments: CommandArguments, services: [any Service.Type], environment: [String: String],
    print: @escaping @Sendable (String) -> Void,
    configure:
      @escaping @Sendable (any Service.Type, CommandArguments) throws -> ConfigurationSection,
    lend: @escaping Lend
  ) {
    self.arguments = arguments
    self.services = services
    self.environment = environment
    self.print = print
    self.configure = configure
    self.lend = lend
  }

  /// A service's section of the configuration that `--config` names, validated; nothing is opened.
  ///
  /// - Parameter service: the service, switched on or not.
  /// - Throws: the configuration's problems.
  public func configuration(for service: any Service.Type) throws -> ConfigurationSection {
    try configure(service, arguments)
  }

  /// What a service would be lent by `awd serve` with the same `--config`, with the store open:
  /// for commands that work on the service's data, beside a running server or without one.
  ///
  /// - Parameters:
  ///   - service: the service.
  ///   - onlyToRead: whether a store that isn't there is to stay so: the command finds an empty one
  ///     in memory, and no file is made that a server of another user could not open.
  /// - Throws: the configuration's problems, or the store's.
  public func serviceContext(
    for service: any Service.Type, onlyToRead: Bool = false
  ) async throws -> ServiceContext {
    try await lend(service, arguments, onlyToRead)
  }
}
