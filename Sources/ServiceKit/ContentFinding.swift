internal import Glibc

/// A result of a check, good or bad, for the operator.
package struct ContentFinding: Sendable, Equatable {
  /// The seriousness of a finding.
  package enum Grade: String, Sendable, Encodable {
    /// All is as it should be.
    case good
    /// It works, but perhaps not as intended.
    case doubtful
    /// Something will not be served, or the service will not start.
    case wrong
  }

  /// The seriousness.
  package let grade: Grade
  /// The thing and its state, in one line.
  package let message: String

  /// Makes a finding.
  ///
  /// - Parameters:
  ///   - grade: the seriousness.
  ///   - message: the thing and its state, in one line.
  package init(_ grade: Grade, _ message: String) { (self.grade, self.message) = (grade, message) }

  /// Finds that something is as it should be.
  package static func good(_ message: String) -> Self { Self(.good, message) }
  /// Finds something that an operator should think about.
  package static func doubtful(_ message: String) -> Self { Self(.doubtful, message) }
  /// Finds something that doesn't work.
  package static func wrong(_ message: String) -> Self { Self(.wrong, message) }

  /// Doubts a private key's file if others than its owner may read it.
  ///
  /// - Parameters:
  ///   - kind: the kind of key, such as “TLS key”.
  ///   - path: the file.
  /// - Returns: the doubt, or nil if there is none or no such file.
  package static func readersOfKey(_ kind: String, _ path: String) -> ContentFinding? {
    var status = stat()
    guard unsafe stat(path, &status) == 0, status.st_mode & 0o077 != 0 else { return nil }
    return .doubtful("\(kind) \(path): other users may read it; chmod 600")
  }
}
