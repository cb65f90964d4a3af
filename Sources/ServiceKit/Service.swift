public import Configuration
public import Storage

/// A part of the daemon that can be switched on: what a plug-in is.
///
/// Its life: ``validate(_:)`` before anything is opened; `init`; ``register(on:)`` once; then
/// ``run()`` beside the requests, with ``reload()`` on SIGHUP, until the process drains.
public protocol Service: Sendable {
  /// The name in lower case: configuration section, metrics label, start of its tables' names.
  static var name: String { get }
  /// The history of its own tables.
  static var migrations: [Migration] { get }
  /// The subcommands it brings.
  static var commands: [any Command.Type] { get }

  /// Whether requests carry what nobody on their way may read, such as passwords. Then the service isn't served in
  /// plain HTTP on an address that other machines reach, unless there is a proxy that may have taken the TLS off.
  static var needsConfidentiality: Bool { get }

  /// Asks the configuration section for every key there is and rejects values that can't be.
  ///
  /// Opens and writes nothing, so that all that is wrong in a configuration can be told at once,
  /// before a service is made and by `awd check`. A key that isn't asked for here is unknown.
  /// `hosts` is asked for by the program.
  ///
  /// - Parameter configuration: the service's own section; records problems by itself.
  static func validate(_ configuration: ConfigurationSection)

  /// Looks at the content that the service would work with, for `awd check`, and changes nothing.
  ///
  /// - Parameters:
  ///   - configuration: the service's own section, validated before.
  ///   - isExposed: whether other machines reach the server, by a proxy or without.
  /// - Returns: what is good about the content, and all that is not.
  static func check(
    _ configuration: ConfigurationSection, isExposed: Bool
  ) async -> [ContentFinding]

  /// The files without which the store is of no use, such as those of keys: `awd backup` holds them
  /// wherever they lie, and `awd restore` puts them where the configuration says then.
  ///
  /// - Parameter configuration: the service's own section, validated before.
  /// - Returns: their paths, by the section's keys that name them.
  static func keyFiles(_ configuration: ConfigurationSection) -> [String: String]

  /// Makes the service, ready to answer requests.
  ///
  /// - Parameter context: what the program lends it.
  /// - Throws: what keeps it from working; its text is shown to the operator.
  init(_ context: ServiceContext) async throws

  /// Registers its routes and readiness checks.
  ///
  /// - Parameter router: takes the routes of this service alone.
  func register(on router: inout Router)

  /// What an operator may try in a terminal beside the running server, printed at the start.
  ///
  /// - Parameter url: the server's URL on this machine, without a slash at its end.
  /// - Returns: examples that do what they say now.
  func examples(at url: String) -> [ServiceExample]

  /// Works in the background until its task is cancelled.
  ///
  /// Returning means that there is nothing (more) to do. What it throws is logged, told by
  /// `/readyz`, and followed by another call after a pause that grows from 1 s to 1 min.
  func run() async throws

  /// Takes up what changed outside: files, keys, lists.
  ///
  /// - Throws: what is wrong; then all stays as it was.
  func reload() async throws
}

extension Service {
  /// No tables.
  public static var migrations: [Migration] { [] }
  /// No subcommands.
  public static var commands: [any Command.Type] { [] }
  /// Requests may be read by anyone.
  public static var needsConfidentiality: Bool { false }
  /// No content to look at.
  public static func check(
    _ configuration: ConfigurationSection, isExposed: Bool
  ) async -> [ContentFinding] { [] }
  /// No files of keys.
  public static func keyFiles(_ configuration: ConfigurationSection) -> [String: String] { [:] }
  /// Nothing to try.
  public func examples(at url: String) -> [ServiceExample] { [] }
  /// Nothing to do in the background.
  public func run() async throws {}
  /// Nothing to reload.
  public func reload() async throws {}
}

/// A command that shows what a service does.
public struct ServiceExample: Sendable, Equatable {
  /// What comes of it, in a few words.
  public let outcome: String
  /// The command as it is typed into a shell.
  public let command: String

  /// An example.
  ///
  /// - Parameters:
  ///   - outcome: what comes of it, in a few words.
  ///   - command: the command as it is typed into a shell.
  public init(_ outcome: String, _ command: String) {
    self.outcome = outcome
    self.command = command
  }
}
