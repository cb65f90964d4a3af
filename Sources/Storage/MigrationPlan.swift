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
  private static let oldestRelease = "0.1.0"

  private let steps: [Step]

  /// Makes a plan of the steps for the kind of database.
  ///
  /// - Parameters:
  ///   - migrations: all steps.
  ///   - sql: the statements of a step.
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
