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
  ///   - number: higher than that of the owner's previous step.
  ///   - sqlite: the statements for SQLite, or nil if it doesn't have the step.
  ///   - postgreSQL: the statements with which a PostgreSQL database gets the same tables, or nil if it doesn't have the step.
  ///   - needs: the number of the newest step that other nodes' programs must know once the database has this one, or nil
  ///     for this one. A lower one says that an older release can go on beside it, as when a column is added that it
  ///     doesn't ask for.
  package init(
    owner: String, number: Int, sqlite: String? = nil, postgreSQL: String? = nil, needs: Int? = nil
  ) {
    self.owner = owner
    self.number = number
    self.sqlite = sqlite
    self.postgreSQL = postgreSQL
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

/// The migrations of a program for one kind of database, to be compared with those that a database has.
struct MigrationPlan {
  /// One step with its statements.
  struct Step: Equatable {
    let owner: String
    let number: Int
    let needs: Int
    let sql: String
  }

  /// The release with which upgrades begin.
  private static let oldestRelease = "1.0.0"

  private let steps: [Step]

  /// Makes a plan of the steps for the kind of database.
  ///
  /// - Throws: `.incompatibleSchema` unless each owner's numbers ascend.
  init(_ migrations: [Migration], _ sql: (Migration) -> String?) throws(StoreError) {
    var highest: [String: Int] = [:]
    for migration in migrations {
      if let previous = highest[migration.owner], previous >= migration.number {
        throw .incompatibleSchema(
          "the migrations of \(migration.owner) are out of order: "
            + "\(migration.number) comes after \(previous)")
      }
      highest[migration.owner] = migration.number
    }
    steps = migrations.compactMap { migration in
      sql(migration).map {
        Step(owner: migration.owner, number: migration.number, needs: migration.needs, sql: $0)
      }
    }
  }

  /// The newest step of an owner, or 0 if the program lacks the owner.
  func newest(of owner: String) -> Int {
    steps.lazy.filter { $0.owner == owner }.map(\.number).max() ?? 0
  }

  /// Returns the steps that are left to apply, in their order.
  ///
  /// - Parameter applied: the numbers of the steps that the database has, by owner.
  /// - Throws: `.incompatibleSchema` if the database and the plan contradict each other.
  func pending(after applied: [String: Set<Int>]) throws(StoreError) -> [Step] {
    for (owner, numbers) in applied { try check(numbers, of: owner) }
    return steps.filter { applied[$0.owner]?.contains($0.number) != true }
  }

  /// Compares the applied steps of an owner with the known ones.
  private func check(_ applied: Set<Int>, of owner: String) throws(StoreError) {
    let known = steps.filter { $0.owner == owner }.map(\.number)
    guard let oldest = known.first, let newest = known.last else {
      throw .incompatibleSchema(
        "the database belongs to a program with the service \(owner), which this one lacks")
    }
    let newestApplied = applied.max() ?? 0
    if newestApplied > newest {
      throw .incompatibleSchema(
        "the database was made by a newer version: it has migration \(newestApplied) of \(owner), "
          + "this program knows them up to \(newest)")
    }
    if newestApplied < oldest {
      throw .incompatibleSchema(
        "the database is older than any that this version can upgrade: it has migration "
          + "\(newestApplied) of \(owner), and the first one known is \(oldest); "
          + "start version \(Self.oldestRelease) with it once")
    }
    // The oldest known step stands for those before it.
    if let lost = applied.subtracting(known).filter({ $0 > oldest }).min() {
      throw .incompatibleSchema(
        "the database has migration \(lost) of \(owner), which this program does not know")
    }
    if let late = known.first(where: { $0 < newestApplied && !applied.contains($0) }) {
      throw .incompatibleSchema(
        "migration \(late) of \(owner) was added before \(newestApplied), "
          + "which the database has already")
    }
  }
}
