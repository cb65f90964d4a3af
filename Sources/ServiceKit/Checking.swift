/// A configuration whose content can be checked before it is served.
package protocol Checking: ServiceConfiguration {
  /// Checks the content that the service would work with, for `awd check`, and changes nothing.
  ///
  /// - Parameter isExposed: whether other machines reach the server, directly or through a proxy.
  /// - Returns: the good and the bad about the content.
  func findings(isExposed: Bool) async -> [ContentFinding]

  /// Returns what an operator should know about the configuration at each start, such as that anybody may make accounts.
  /// It is logged, and `awd check` prints it.
  ///
  /// - Parameter isExposed: whether other machines reach the server, directly or through a proxy.
  /// - Returns: doubts; none if all is as it should be.
  func warnings(isExposed: Bool) -> [ContentFinding]
}

extension Checking {
  /// Warns of nothing.
  package func warnings(isExposed: Bool) -> [ContentFinding] { [] }
}
