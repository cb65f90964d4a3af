/// Work that many ask for alike, with an input and an output each.
///
/// On SQLite each is a closure of its own in the writer's group. On PostgreSQL as many as wait, up to 256, are one call of a
/// function in the database, which works on whole sets.
package protocol BatchOperation: Sendable {
  /// The input of one caller.
  associatedtype Input: Sendable
  /// The result for one caller.
  associatedtype Output: Sendable

  /// The amount of work of an input, 1 for most. The inputs of one call have 256 together at most; a single one may have more.
  static func size(of input: Input) -> Int

  /// Does the work for one input.
  static func run(_ input: Input, _ transaction: borrowing Transaction) throws -> Output

  // The call of one of PostgreSQL's functions for many inputs.
  //
  // It runs at `READ COMMITTED`: the function locks first what it goes by, in one order. It may run more than once, but is
  // committed once. If it fails as a whole, it runs again for each eighth of the inputs, so that only those fail that make
  // it fail; what may fail otherwise should be an outcome. An input whose rows others keep locked waits by itself, and
  // keeps no others waiting.

  /// A query with one parameter for each array, and one row for each input.
  static var sql: StaticString { get }

  /// Writes the parameters of the query in order.
  static func write(_ inputs: [Input], to parameters: inout PostgreSQLParameters) throws

  /// Reads a row.
  ///
  /// - Returns: the index of an input, counted from 0, and its outcome.
  static func outcome(of row: borrowing Row) throws -> (index: Int, Result<Output, any Error>)
}

extension BatchOperation {
  /// All inputs are alike.
  package static func size(of input: Input) -> Int { 1 }
}

// What a ``BatchOperation`` writes.
extension PostgreSQLParameters {
  /// Adds an array of type `bigint[]`.
  package mutating func append(integers: [Int64?]) throws(StoreError) {
    try append(integers.map(\.databaseValue), of: .int8)
  }

  /// Adds an array of type `text[]`.
  package mutating func append(texts: [String?]) throws(StoreError) {
    try append(texts.map(\.databaseValue), of: .text)
  }

  /// Adds an array of type `bytea[]`.
  package mutating func append(blobs: [[UInt8]?]) throws(StoreError) {
    try append(blobs.map(\.databaseValue), of: .bytea)
  }

  /// Adds a value that is the same for all inputs.
  package mutating func append(_ value: some DatabaseValueConvertible) throws(StoreError) {
    try append(value.databaseValue)
  }
}
