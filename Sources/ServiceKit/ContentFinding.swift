internal import Glibc

/// What a look at a service's content found.
public struct ContentFinding: Sendable, Equatable {
  /// How bad it is.
  public enum Grade: String, Sendable, Encodable {
    /// As it should be.
    case good
    /// It works, but perhaps not as it was meant.
    case doubtful
    /// Something will not be served, or the service will not start.
    case wrong
  }

  /// How bad it is.
  public let grade: Grade
  /// What was found, and where, in one line.
  public let message: String

  /// A finding.
  ///
  /// - Parameters:
  ///   - grade: how bad it is.
  ///   - message: what was found, and where.
  public init(_ grade: Grade, _ message: String) {
    self.grade = grade
    self.message = message
  }

  /// A doubt about the file of a private key, if others than its owner may read it.
  ///
  /// - Parameters:
  ///   - kind: what key it is, such as “TLS key”.
  ///   - path: the file.
  /// - Returns: nil if they may not, or there is no such file.
  public static func readersOfKey(_ kind: String, _ path: String) -> ContentFinding? {
    var status = stat()
    guard unsafe stat(path, &status) == 0, status.st_mode & 0o077 != 0 else { return nil }
    return ContentFinding(.doubtful, "\(kind) \(path): other users may read it; chmod 600")
  }
}
