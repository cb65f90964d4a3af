/// The number of one run of the program on a database that several share: random, so that no two have the same.
public struct NodeID: Sendable, Hashable, RawRepresentable, DatabaseValueConvertible {
  /// The number as it stands in the tables, above 0.
  public let rawValue: Int64

  /// Makes an identifier of its number.
  public init(rawValue: Int64) { self.rawValue = rawValue }

  /// Makes an identifier that no other run has.
  public static func random() -> NodeID { NodeID(rawValue: .random(in: 1 ... .max)) }
}

extension NodeID: CustomStringConvertible {
  /// The number in hexadecimal digits.
  public var description: String { String(rawValue, radix: 16) }
}
