internal import Foundation
package import Storage
internal import Platform

/// Opens stores for the tests of services, on the kind of database that `AWD_TEST_STORE` names: `postgresql` or, without
/// it, SQLite.
package enum TestStore {
  /// Whether stores stand on PostgreSQL.
  package static let isPostgreSQL =
    ProcessInfo.processInfo.environment["AWD_TEST_STORE"] == "postgresql"

  private static let databases = Lock<[String: String]>([:])

  /// Opens a store.
  ///
  /// - Parameters:
  ///   - path: the file, or the name under which the test finds its database again.
  ///   - migrations: all migrations of the services.
  package static func open(_ path: String, migrations: [Migration]) async throws -> Store {
    try await Store.open(location(path), migrations: migrations)
  }

  /// Returns the place of a store.
  ///
  /// - Parameter path: the file, or the name under which the test finds its database again.
  package static func location(_ path: String) throws -> StoreLocation {
    guard isPostgreSQL else { return .file(path) }
    return .postgreSQL(try PostgreSQLAddress(url(path)))
  }

  /// Returns the URL of a store.
  ///
  /// - Parameter path: the file, or the name under which the test finds its database again.
  package static func url(_ path: String) throws -> String {
    guard isPostgreSQL else { return "sqlite:\(path)" }
    let server = try PostgreSQLServer.shared.get()
    let database = try databases.withLock { databases in
      if let database = databases[path] { return database }
      let database = try server.makeDatabase()
      databases[path] = database
      return database
    }
    return server.url(of: database)
  }

  /// Ends all connections to a database on PostgreSQL, as if its node had died.
  ///
  /// - Parameter path: the name under which the test finds its database again.
  package static func disconnect(_ path: String) throws {
    guard let database = databases.withLock({ $0[path] }) else { return }
    try PostgreSQLServer.shared.get().query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(database)' "
        + "AND pid <> pg_backend_pid()", in: database)
  }

  /// The condition of a test of what only SQLite has, or of a file.
  package static var isSQLite: Bool { !isPostgreSQL }
}
