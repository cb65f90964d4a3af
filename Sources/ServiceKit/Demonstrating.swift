/// A service that can be tried with commands beside the running server.
package protocol Demonstrating: Service {
  /// Returns commands that an operator may try, which are printed at the start.
  ///
  /// - Parameter url: the server's URL on this machine, without a slash at its end.
  /// - Returns: examples that work now.
  func examples(at url: String) -> [ServiceExample]
}

/// A command that shows what a service does.
package struct ServiceExample: Sendable, Equatable {
  /// The outcome in a few words.
  package let outcome: String
  /// The command as it is typed into a shell.
  package let command: String

  /// Makes an example.
  ///
  /// - Parameters:
  ///   - outcome: the outcome in a few words.
  ///   - command: the command as it is typed into a shell.
  package init(_ outcome: String, _ command: String) {
    (self.outcome, self.command) = (outcome, command)
  }
}
