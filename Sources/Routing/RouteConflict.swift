/// Routes that claim the same requests.
package struct RouteConflict: Error, Equatable, CustomStringConvertible {
  /// The conflicts in words that name the services and patterns.
  package let conflicts: [String]

  /// The conflicts, one a line.
  package var description: String { conflicts.sorted().joined(separator: "\n") }
}
