/// One step of a schema's history, applied to a file once and never changed afterwards.
public struct Migration: Sendable {
  /// The service that the step belongs to.
  public let owner: String
  /// The place among its owner's steps. Each number is higher than the one before.
  public let number: Int
  let sql: StaticString

  /// Makes a step out of SQL statements.
  ///
  /// - Parameters:
  ///   - owner: the service's name.
  ///   - number: higher than that of the owner's previous step.
  ///   - sql: any number of statements, without BEGIN and COMMIT.
  public init(owner: String, number: Int, sql: StaticString) {
    self.owner = owner
    self.number = number
    self.sql = sql
  }
}
