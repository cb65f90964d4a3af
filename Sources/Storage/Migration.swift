/// One step of a schema's history, applied to a file once and never changed afterwards.
public struct Migration: Sendable {
  enum Change: Sendable {
    case sql(StaticString)
    case closure(@Sendable (borrowing Transaction) throws -> Void)
  }

  /// The service that the step belongs to.
  public let owner: String
  /// The place among its owner's steps. Each number is higher than the one before.
  public let number: Int
  let change: Change

  /// Makes a step out of SQL statements.
  ///
  /// - Parameters:
  ///   - owner: the service's name.
  ///   - number: higher than that of the owner's previous step.
  ///   - sql: any number of statements, without BEGIN and COMMIT.
  public init(owner: String, number: Int, sql: StaticString) {
    self.owner = owner
    self.number = number
    change = .sql(sql)
  }

  /// Makes a step out of a closure, for what SQL alone cannot do.
  ///
  /// - Parameters:
  ///   - owner: the service's name.
  ///   - number: higher than that of the owner's previous step.
  ///   - change: runs within the step's transaction. If it throws, nothing is changed.
  public init(
    owner: String, number: Int,
    change: @escaping @Sendable (borrowing Transaction) throws -> Void
  ) {
    self.owner = owner
    self.number = number
    self.change = .closure(change)
  }
}
