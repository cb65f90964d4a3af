public import Routing
public import Configuration
public import Storage

/// A part of the daemon that can be switched on and off, implemented by a plug-in.
///
/// The program calls ``validate(_:)`` before anything is opened, then the initializer, then ``register(on:)`` once. It
/// calls ``run()`` while requests are served, and ``reload()`` on SIGHUP, until the process drains.
public protocol Service: Sendable {
  /// The name in lower case, which is also the configuration section, a label of metrics and the start of the tables'
  /// names.
  static var name: String { get }
  /// The history of the service's own tables.
  static var migrations: [Migration] { get }
  /// The tables whose rows a restored store must not have, as they say that nothing that came later is lost.
  static var unrestoredTables: [StaticString] { get }
  /// Finishes what is only begun in a store of SQLite's, before its rows are copied to a database that several nodes share.
  ///
  /// - Parameters:
  ///   - store: the store, which nobody else uses.
  ///   - configuration: the service's own section, validated before.
  static func finish(_ store: Store, _ configuration: ConfigurationSection) async throws
  /// The subcommands of the service, for its operator and for its users (`wallet …`).
  static var commands: [any Command.Type] { get }

  /// Whether requests carry secrets such as passwords.
  ///
  /// Such a service isn't served in plain HTTP on an address that other machines reach, unless there is a proxy that may
  /// have ended the TLS connection.
  static var needsConfidentiality: Bool { get }

  /// Reads every key of the configuration section, and rejects values that can't be used.
  ///
  /// It opens and writes nothing, so that all problems of a configuration can be reported at once, by `awd check` too.
  /// A key that isn't read here is unknown. The program reads `hosts` itself.
  ///
  /// - Parameter configuration: the service's own section, which records the problems.
  static func validate(_ configuration: ConfigurationSection)

  /// Checks the content that the service would work with, for `awd check`, and changes nothing.
  ///
  /// - Parameters:
  ///   - configuration: the service's own section, validated before.
  ///   - isExposed: whether other machines reach the server, directly or through a proxy.
  /// - Returns: the good and the bad about the content.
  static func check(
    _ configuration: ConfigurationSection, isExposed: Bool
  ) async -> [ContentFinding]

  /// Returns what an operator should know about the configuration at each start, such as that anybody may make accounts.
  /// It is logged, and `awd check` prints it.
  ///
  /// - Parameters:
  ///   - configuration: the service's own section, validated before.
  ///   - isExposed: whether other machines reach the server, directly or through a proxy.
  /// - Returns: doubts; none if all is as it should be.
  static func warnings(
    _ configuration: ConfigurationSection, isExposed: Bool
  ) -> [ContentFinding]

  /// Returns the files without which the store is of no use, such as keys.
  ///
  /// `awd backup` copies them wherever they lie, and `awd restore` puts them where the configuration then says.
  ///
  /// - Parameter configuration: the service's own section, validated before.
  /// - Returns: the files' paths, by the keys of the section that name them.
  static func keyFiles(_ configuration: ConfigurationSection) -> [String: String]

  /// Returns the folders of content that may lie in the data folder, but are kept elsewhere too: `awd backup` leaves
  /// them out.
  ///
  /// - Parameter configuration: the service's own section, validated before.
  /// - Returns: the folders' paths; empty ones count for nothing.
  static func contentFolders(_ configuration: ConfigurationSection) -> [String]

  /// Makes the service, ready to answer requests.
  ///
  /// - Parameter context: the service's configuration, and all that the program offers it.
  /// - Throws: an error that keeps the service from working. The operator reads its text.
  init(_ context: ServiceContext) async throws

  /// Registers the routes and readiness checks.
  ///
  /// - Parameter router: takes the routes of this service alone.
  func register(on router: inout Router)

  /// Returns commands that an operator may try beside the running server, which are printed at the start.
  ///
  /// - Parameter url: the server's URL on this machine, without a slash at its end.
  /// - Returns: examples that work now.
  func examples(at url: String) -> [ServiceExample]

  /// Works in the background until its task is cancelled.
  ///
  /// It returns if there is nothing (more) to do. After an error, which is logged and shown by `/readyz`, it is called
  /// again after a pause that grows from 1 s to 1 min.
  func run() async throws

  /// Takes up what changed outside: files, keys, lists.
  ///
  /// - Throws: an error that leaves everything as it was.
  func reload() async throws
}

extension Service {
  /// No tables.
  public static var migrations: [Migration] { [] }
  /// Finishes nothing.
  public static func finish(_ store: Store, _ configuration: ConfigurationSection) async throws {}
  /// No such tables.
  public static var unrestoredTables: [StaticString] { [] }
  /// No subcommands.
  public static var commands: [any Command.Type] { [] }
  /// False: no secrets.
  public static var needsConfidentiality: Bool { false }
  /// Finds nothing.
  public static func check(
    _ configuration: ConfigurationSection, isExposed: Bool
  ) async -> [ContentFinding] { [] }
  /// Warns of nothing.
  public static func warnings(
    _ configuration: ConfigurationSection, isExposed: Bool
  ) -> [ContentFinding] { [] }
  /// Returns no files.
  public static func keyFiles(_ configuration: ConfigurationSection) -> [String: String] { [:] }
  /// Returns no folders.
  public static func contentFolders(_ configuration: ConfigurationSection) -> [String] { [] }
  /// Returns no examples.
  public func examples(at url: String) -> [ServiceExample] { [] }
  /// Does nothing in the background.
  public func run() async throws {}
  /// Reloads nothing.
  public func reload() async throws {}
}

/// A command that shows what a service does.
public struct ServiceExample: Sendable, Equatable {
  /// The outcome in a few words.
  public let outcome: String
  /// The command as it is typed into a shell.
  public let command: String

  /// Makes an example.
  ///
  /// - Parameters:
  ///   - outcome: the outcome in a few words.
  ///   - command: the command as it is typed into a shell.
  public init(_ outcome: String, _ command: String) {
    self.outcome = outcome
    self.command = command
  }
}
