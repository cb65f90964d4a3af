internal import MsgrResources
internal import Platform
internal import Push
internal import Storage

extension MsgrStore {
  /// The history of the service's tables since version 0.1.0, as `Steps` has it. Times are milliseconds since 1970.
  static let migrations =
    [
      Migration(
        owner: MsgrService.name, number: 7, sqlite: Resource(msgr_step7_sqlite_sql()).bytes),
      Migration(
        owner: MsgrService.name, number: 8, sqlite: Resource(msgr_step8_sqlite_sql()).bytes,
        postgreSQL: Resource(msgr_step8_postgresql_sql()).bytes),
      // A function that works for many at once where nodes share the store; later steps have others.
      Migration(
        owner: MsgrService.name, number: 9, postgreSQL: Resource(msgr_step9_postgresql_sql()).bytes),
      // A push service of Google's beside Apple's.
      Migration(
        owner: MsgrService.name, number: 10, sqlite: Resource(msgr_step10_sqlite_sql()).bytes,
        postgreSQL: Resource(msgr_step10_postgresql_sql()).bytes),
      // The outbox becomes one of all services.
      Migration(
        owner: MsgrService.name, number: 11, sqlite: Resource(msgr_step11_sqlite_sql()).bytes,
        postgreSQL: Resource(msgr_step11_postgresql_sql()).bytes),
    ] + Pushes.migrations + [
      Migration(
        owner: MsgrService.name, number: 12, sqlite: Resource(msgr_step12_sqlite_sql()).bytes,
        postgreSQL: Resource(msgr_step12_postgresql_sql()).bytes),
      Migration(
        owner: MsgrService.name, number: 13, sqlite: Resource(msgr_step13_sqlite_sql()).bytes,
        postgreSQL: Resource(msgr_step13_postgresql_sql()).bytes),
    ]
}
