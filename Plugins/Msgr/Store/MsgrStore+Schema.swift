internal import Push
internal import Storage

extension MsgrStore {
  /// The history of the service's tables since version 0.1.0, as `Steps` has it. Times are milliseconds since 1970.
  static let migrations =
    [
      Migration(owner: MsgrService.name, number: 7, sqlite: PackageResources.step7_sqlite_sql),
      Migration(
        owner: MsgrService.name, number: 8, sqlite: PackageResources.step8_sqlite_sql,
        postgreSQL: PackageResources.step8_postgresql_sql),
      // A function that works for many at once where nodes share the store; later steps have others.
      Migration(
        owner: MsgrService.name, number: 9, postgreSQL: PackageResources.step9_postgresql_sql),
      // A push service of Google's beside Apple's.
      Migration(
        owner: MsgrService.name, number: 10, sqlite: PackageResources.step10_sqlite_sql,
        postgreSQL: PackageResources.step10_postgresql_sql),
      // The outbox becomes one of all services.
      Migration(
        owner: MsgrService.name, number: 11, sqlite: PackageResources.step11_sqlite_sql,
        postgreSQL: PackageResources.step11_postgresql_sql),
    ] + Pushes.migrations + [
      Migration(
        owner: MsgrService.name, number: 12, sqlite: PackageResources.step12_sqlite_sql,
        postgreSQL: PackageResources.step12_postgresql_sql),
      Migration(
        owner: MsgrService.name, number: 13, sqlite: PackageResources.step13_sqlite_sql,
        postgreSQL: PackageResources.step13_postgresql_sql),
    ]
}
