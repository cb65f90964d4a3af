/// The number of one run of the program on a database that several share: random, so that no two have the same.
package struct NodeID: Sendable, Hashable, RawRepresentable, DatabaseValueConvertible {
  /// The number as it stands in the tables, above 0.
  package let rawValue: Int64

  package init(rawValue: Int64) { self.rawValue = rawValue }

  /// Makes an identifier that no other run has.
  package static func random() -> NodeID { NodeID(rawValue: .random(in: 1 ... .max)) }
}

extension NodeID: CustomStringConvertible {
  /// The number in hexadecimal digits.
  package var description: String { String(rawValue, radix: 16) }
}
