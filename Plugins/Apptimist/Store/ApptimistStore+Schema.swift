internal import Push
internal import Storage

extension ApptimistStore {
  /// The history of the service's tables since version 0.1.0, as `Steps` has it. Times are milliseconds since 1970.
  static let migrations: [Migration] =
    [
      Migration(owner: "apptimist", number: 4, sqlite: PackageResources.step4_sqlite_sql),
      Migration(
        owner: "apptimist", number: 5, sqlite: PackageResources.step5_sqlite_sql,
        postgreSQL: PackageResources.step5_postgresql_sql),
      // What is done for many at once where nodes share the store.
      Migration(owner: "apptimist", number: 6, postgreSQL: PackageResources.step6_postgresql_sql),
      // Positions are of the store's history.
      Migration(owner: "apptimist", number: 7, sql: "DROP TABLE IF EXISTS apptimist_epoch"),
      Migration(
        owner: "apptimist", number: 8, sqlite: PackageResources.step8_sqlite_sql,
        postgreSQL: PackageResources.step8_postgresql_sql),
      Migration(
        owner: "apptimist", number: 9, sqlite: PackageResources.step9_sqlite_sql,
        postgreSQL: PackageResources.step9_postgresql_sql),
      Migration(
        owner: "apptimist", number: 10, sqlite: PackageResources.step10_sqlite_sql,
        postgreSQL: PackageResources.step10_postgresql_sql),
    ] + Pushes.migrations + [
      Migration(
        owner: "apptimist", number: 11, sqlite: PackageResources.step11_sqlite_sql,
        postgreSQL: PackageResources.step11_postgresql_sql),
      Migration(
        owner: "apptimist", number: 12, sqlite: PackageResources.step12_sqlite_sql,
        postgreSQL: PackageResources.step12_postgresql_sql),
    ]
}
