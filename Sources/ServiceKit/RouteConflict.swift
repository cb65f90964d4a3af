/// Routes that claim the same requests.
public struct RouteConflict: Error, Equatable, CustomStringConvertible {
  /// Each conflict in words, naming the services and patterns.
  public let conflicts: [String]

  /// The conflicts, one a line.
  public var description: String { conflicts.sorted().joined(separator: "\n") }
}
