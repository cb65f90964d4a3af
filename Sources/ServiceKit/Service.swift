package import Routing

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
  /// - Parameters:
  ///   - context: all that the program offers the service.
  ///   - configuration: the service's section, free of problems.
  /// - Throws: an error that keeps the service from working. The operator reads its text.
  init(_ context: ServiceContext, _ configuration: Configuration) async throws

  /// Registers the routes and readiness checks.
  ///
  /// - Parameter router: takes the routes of this service alone.
  func register(on router: inout Router)
}

extension Service {
  /// True.
  package static var isOnByDefault: Bool { true }
}
