/// Routes that claim the same requests.
public struct RouteConflict: Error, Equatable, CustomStringConvertible {
  /// The conflicts in words that name the services and patterns.
  public let conflicts: [String]

  /// The conflicts, one a line.
  public var description: String { conflicts.sorted().joined(separator: "\n") }
}
