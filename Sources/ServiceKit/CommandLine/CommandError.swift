/// The reason why a command failed.
package enum CommandError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The command was refused or failed, for the given reason (exit code 1).
  case refused(String)
  /// The arguments are wrong (exit code 2).
  case usage(String)

  /// The reason.
  package var description: String {
    switch self {
    case .refused(let reason), .usage(let reason): reason
    }
  }
}
