internal import Storage
internal import TestSupport
internal import Platform

/// A kind of database that a store stands on.
enum Engine: String, Sendable {
  case sqlite, postgreSQL

  /// The kinds that this run may use.
  static let tested: [Engine] = OtherPrograms.mayRun ? [.sqlite, .postgreSQL] : [.sqlite]
}

/// An empty database for a test.
struct TestDatabase: Sendable {
  let location: StoreLocation
  /// The name on PostgreSQL's server.
  var name = ""

  func open(
    _ migrations: [Migration] = notes, _ configuration: StoreConfiguration = StoreConfiguration()
  ) async throws -> Store {
    try await Store.open(location, migrations: migrations, configuration: configuration)
  }
}

/// The databases of one test, removed with the last reference.
final class TestDatabases: Sendable {
  private let folder = TemporaryFolder()
  private let names = Lock<[String]>([])

  deinit {
    for name in names.withLock(\.self) { try? PostgreSQLServer.shared.get().removeDatabase(name) }
  }

  /// Makes a database; on PostgreSQL, on the server that the tests share.
  ///
  /// - Parameters:
  ///   - engine: its kind; a test has one SQLite file.
  ///   - options: what follows its name in PostgreSQL's CREATE DATABASE.
  func make(_ engine: Engine = .postgreSQL, _ options: String = "") throws -> TestDatabase {
    switch engine {
    case .sqlite: return TestDatabase(location: .file(folder.database))
    case .postgreSQL:
      let server = try PostgreSQLServer.shared.get()
      let name = try server.makeDatabase(options)
      names.withLock { $0.append(name) }
      return TestDatabase(
        location: .postgreSQL(try PostgreSQLAddress(server.url(of: name))), name: name)
    }
  }
}
