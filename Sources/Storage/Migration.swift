/// One step of a schema's history, applied to a database once and never changed afterwards.
package struct Migration: Sendable {
  /// The service that the step belongs to.
  package let owner: String
  /// The place among its owner's steps. Each number is higher than the one before.
  package let number: Int
  /// The statements for SQLite, or nil if it doesn't have the step.
  let sqlite: String?
  /// The statements for PostgreSQL, or nil if it doesn't have the step.
  let postgreSQL: String?
  /// The owner's newest step that a program of another release must know to go on working beside this step.
  let needs: Int

  /// Makes a step out of SQL statements, any number of them for each engine, without BEGIN and COMMIT.
  ///
  /// The first step that an engine has makes the whole schema of the release with which its upgrades begin. It stands for
  /// all steps with lower numbers, which this program doesn't know any more.
  ///
  /// - Parameters:
  ///   - owner: the service's name.
  ///   - number: higher than that of the owner's previous step.
  ///   - sqlite: the statements for SQLite, or nil if it doesn't have the step.
  ///   - postgreSQL: the statements with which a PostgreSQL database gets the same tables, or nil if it doesn't have the step.
  ///   - needs: the number of the newest step that other nodes' programs must know once the database has this one, or nil
  ///     for this one. A lower one says that an older release can go on beside it, as when a column is added that it
  ///     doesn't ask for.
  package init(
    owner: String, number: Int, sqlite: String? = nil, postgreSQL: String? = nil, needs: Int? = nil
  ) {
    (self.owner, self.number, self.sqlite, self.postgreSQL) = (owner, number, sqlite, postgreSQL)
    self.needs = needs ?? number
  }

  /// Makes a step out of the content of SQL files, as the other initializer does out of text.
  package init(
    owner: String, number: Int, sqlite: [UInt8]? = nil, postgreSQL: [UInt8]? = nil,
    needs: Int? = nil
  ) {
    self.init(
      owner: owner, number: number, sqlite: sqlite.map { String(decoding: $0, as: UTF8.self) },
      postgreSQL: postgreSQL.map { String(decoding: $0, as: UTF8.self) }, needs: needs)
  }

  /// Makes a step out of SQL statements that all databases understand.
  package init(owner: String, number: Int, sql: String) {
    self.init(owner: owner, number: number, sqlite: sql, postgreSQL: sql)
  }
}
