internal import ApptimistResources
internal import Platform
internal import Push
internal import Storage

extension ApptimistStore {
  /// The history of the service's tables since version 0.1.0, as `Steps` has it. Times are milliseconds since 1970.
  static let migrations: [Migration] =
    [
      Migration(
        owner: "apptimist", number: 4, sqlite: Resource(apptimist_step4_sqlite_sql()).bytes),
      Migration(
        owner: "apptimist", number: 5, sqlite: Resource(apptimist_step5_sqlite_sql()).bytes,
        postgreSQL: Resource(apptimist_step5_postgresql_sql()).bytes),
      // What is done for many at once where nodes share the store.
      Migration(
        owner: "apptimist", number: 6, postgreSQL: Resource(apptimist_step6_postgresql_sql()).bytes),
      // Positions are of the store's history.
      Migration(owner: "apptimist", number: 7, sql: "DROP TABLE IF EXISTS apptimist_epoch"),
      Migration(
        owner: "apptimist", number: 8, sqlite: Resource(apptimist_step8_sqlite_sql()).bytes,
        postgreSQL: Resource(apptimist_step8_postgresql_sql()).bytes),
      Migration(
        owner: "apptimist", number: 9, sqlite: Resource(apptimist_step9_sqlite_sql()).bytes,
        postgreSQL: Resource(apptimist_step9_postgresql_sql()).bytes),
      Migration(
        owner: "apptimist", number: 10, sqlite: Resource(apptimist_step10_sqlite_sql()).bytes,
        postgreSQL: Resource(apptimist_step10_postgresql_sql()).bytes),
    ] + Pushes.migrations + [
      Migration(
        owner: "apptimist", number: 11, sqlite: Resource(apptimist_step11_sqlite_sql()).bytes,
        postgreSQL: Resource(apptimist_step11_postgresql_sql()).bytes),
      Migration(
        owner: "apptimist", number: 12, sqlite: Resource(apptimist_step12_sqlite_sql()).bytes,
        postgreSQL: Resource(apptimist_step12_postgresql_sql()).bytes),
    ]
}
