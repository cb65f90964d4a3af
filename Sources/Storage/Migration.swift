/// One step of a schema's history, applied to a database once and never changed afterwards.
public struct Migration: Sendable {
  /// The service that the step belongs to.
  public let owner: String
  /// The place among its owner's steps. Each number is higher than the one before.
  public let number: Int
  /// The statements for SQLite, or nil if SQLite doesn't have the step.
  let sqlite: StaticString?
  /// The statements that take the place of this step and all before it in a new SQLite database, or nil if it gets them
  /// one by one.
  let wholeSQLite: StaticString?
  /// The statements for PostgreSQL, or nil if its databases have begun with a later step.
  let postgreSQL: StaticString?
  /// The owner's newest step that a program of another release must know to go on working beside this step.
  let needs: Int

  /// Makes a step out of SQL statements.
  ///
  /// - Parameters:
  ///   - owner: the service's name.
  ///   - number: higher than that of the owner's previous step.
  ///   - sqlite: any number of statements, without BEGIN and COMMIT.
  ///   - wholeSQLite: the statements with which a SQLite database that has none of the owner's steps gets what this step and
  ///     all before it make, or nil if it gets them one by one. SQLite reads its whole schema anew for each altered table,
  ///     so a history of many alterations takes long.
  ///   - postgreSQL: the statements with which a PostgreSQL database gets the same tables, or nil for a step that is older
  ///     than the first one that has any. That one makes the whole schema.
  ///   - needs: the number of the newest step that other nodes' programs must know once the database has this one, or nil
  ///     for this one. A lower one says that an older release can go on beside it, as when a column is added that it
  ///     doesn't ask for.
  public init(
    owner: String, number: Int, sqlite: StaticString? = nil, wholeSQLite: StaticString? = nil,
    postgreSQL: StaticString? = nil, needs: Int? = nil
  ) {
    self.owner = owner
    self.number = number
    self.sqlite = sqlite
    self.wholeSQLite = wholeSQLite
    self.postgreSQL = postgreSQL
    self.needs = needs ?? number
  }

  /// Makes a step out of SQL statements that all databases understand.
  public init(owner: String, number: Int, sql: StaticString) {
    self.init(owner: owner, number: number, sqlite: sql, postgreSQL: sql)
  }
}
