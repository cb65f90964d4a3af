package import Configuration
package import Observability
internal import Platform
package import Routing
package import Storage

/// A part of the daemon that can be switched on and off, implemented by a plug-in.
///
/// The program reads the ``Configuration`` once, before anything is opened, then makes the service, then calls
/// ``register(on:)`` once. A service adopts further protocols for what else it has: ``Migrating``, ``Commanding``,
/// ``Confidential``, ``Demonstrating``, ``Running``, ``Reloading`` and ``InvitingService``; its configuration adopts
/// ``Checking`` and ``BackedUp``.
package protocol Service: Sendable {
  /// The service's own section of the configuration.
  associatedtype Configuration: ServiceConfiguration

  /// The name in lower case, which is also the configuration section, a label of metrics and the start of the tables'
  /// names.
  static var name: String { get }

  /// True if the service is on where `[server] services` isn't given, as it needs nothing from its operator.
  static var isOnByDefault: Bool { get }

  /// Makes the service, ready to answer requests.
  ///
  /// - Parameter context: all that the program offers the service.
  /// - Throws: an error that keeps the service from working. The operator reads its text.
  init(_ context: ServiceContext, _ configuration: Configuration) async throws

  /// Registers the routes and readiness checks.
  func register(on router: inout Router)
}

extension Service {
  package static var isOnByDefault: Bool { true }
}

/// The values of a service's section.
package protocol ServiceConfiguration: Sendable {
  /// Reads every key of the section, and records what is wrong with it there.
  ///
  /// It opens and writes nothing, so that all problems of a configuration can be reported at once, by `awd check` too.
  /// A key that isn't read here is unknown. The program reads `hosts` itself.
  init(_ section: ConfigurationSection)
}

extension Service {
  /// Reads the service's section, and records what is wrong with it there.
  package static func configuration(_ section: ConfigurationSection) -> any ServiceConfiguration {
    Configuration(section)
  }
}

/// A service with tables in the store.
package protocol Migrating: Service {
  /// The history of the service's own tables, and of the libraries' that it uses, in the order of its needs.
  static var migrations: [Migration] { get }
}

extension Sequence where Element == any Service.Type {
  /// The histories of all services' tables, with each step once.
  package var migrations: [Migration] {
    var known: Set<String> = []
    return flatMap { ($0 as? any Migrating.Type)?.migrations ?? [] }
      .filter { known.insert("\($0.owner) \($0.number)").inserted }
  }
}

/// A service that works in the background while requests are served.
package protocol Running: Service {
  /// Works until the task is cancelled.
  ///
  /// It returns if there is nothing (more) to do. After an error, which is logged and shown by `/readyz`, it is called
  /// again after a pause that grows from 1 s to 1 min.
  func run() async throws
}

extension Running {
  /// Does work again and again until the task is cancelled.
  ///
  /// - Parameters:
  ///   - interval: the time between the end of the work and its next beginning; after a failure 5 s, if that is less.
  ///   - failure: the words that are logged with the cause of a failure, once a minute while it fails.
  package static func repeatWork(
    every interval: Duration, orLog failure: String, in log: Log,
    _ work: () async throws -> Void
  ) async {
    var failures = FailureRun()
    while !Task.isCancelled {
      var pause = interval
      do {
        try await work()
        failures.succeeded()
      } catch {
        if failures.failed() { log.warning(failure, ["cause": "\(error)"]) }
        pause = min(interval, .seconds(5))
      }
      try? await Task.sleep(for: pause)
    }
  }
}

/// A service that can apply changes while it runs.
package protocol Reloading: Service {
  /// Loads what changed outside, such as files, keys and lists, on SIGHUP.
  ///
  /// - Throws: an error that leaves everything as it was.
  func reload() async throws
}

/// A service with subcommands of its own.
package protocol Commanding: Service {
  /// The subcommands, for the service's operator and for its users (`wallet …`).
  static var commands: [any Command.Type] { get }
}

/// A service whose requests carry secrets such as passwords.
///
/// It isn't served in plain HTTP on an address that other machines reach, unless there is a proxy that may have ended the
/// TLS connection.
package protocol Confidential: Service {}

/// A service that can be tried with commands beside the running server.
package protocol Demonstrating: Service {
  /// Returns commands that an operator may try, which are printed at the start.
  ///
  /// - Parameter url: the server's URL on this machine, without a slash at its end.
  /// - Returns: examples that work now.
  func examples(at url: String) -> [ServiceExample]
}

/// A service that people can open in a browser.
package protocol Presenting: Service {
  /// The service's cards on the front door, the page at `/`; none if there is nothing to open.
  var cards: [ServiceCard] { get }
}

/// A page that a link of the front door leads to.
package struct ServiceCard: Sendable, Equatable {
  package let title: String
  /// The page's purpose, in one sentence.
  package let sentence: String
  /// The path of the page on this server.
  package let path: String

  package init(_ title: String, _ sentence: String, path: String) {
    self.title = title
    self.sentence = sentence
    self.path = path
  }
}

/// A command that shows what a service does.
package struct ServiceExample: Sendable, Equatable {
  /// The outcome in a few words.
  package let outcome: String
  /// The command as it is typed into a shell.
  package let command: String

  package init(_ outcome: String, _ command: String) {
    self.outcome = outcome
    self.command = command
  }
}

/// A service that stores what belongs to persons, all of which can be deleted at once.
package protocol Erasing: Service {
  /// Deletes everything that belongs to a person.
  ///
  /// - Parameters:
  ///   - person: what the service knows the person by: an account's name or key, a uid, or an account of a chain.
  ///   - isTrial: whether nothing is deleted, and only the report made.
  /// - Returns: what was deleted, or would be; none if the service doesn't know the person.
  static func erase(
    _ person: String, isTrial: Bool, _ context: ServiceContext, _ configuration: Configuration
  ) async throws -> [ErasedPart]
}

/// A kind of data that was deleted with a person.
package struct ErasedPart: Sendable, Encodable, Equatable {
  /// The kind, such as `messages in inboxes of others`.
  package let kind: String
  /// The number of things of that kind.
  package let count: Int

  package init(_ kind: String, _ count: Int) {
    self.kind = kind
    self.count = count
  }
}

/// A service that answers other programs' clients as well, by routes that may have hosts of their own.
package protocol SpeakingDialects: Service {
  /// Returns the routes of these clients.
  func dialectRouters() -> [Router]
}
