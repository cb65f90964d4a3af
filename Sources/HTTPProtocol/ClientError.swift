/// An error of a client: the kind of failure for programs, and words for people.
///
/// Errors are equal if they are of the same kind, whatever their words.
public struct ClientError<Failure: Sendable & Hashable>: Error, Sendable, Hashable {
  /// The kind of failure, for programs.
  public let code: Failure
  /// The failure in words, for people.
  public let message: String

  /// An error.
  ///
  /// - Parameters:
  ///   - code: the kind of failure.
  ///   - message: the failure in words, without anything that may be secret.
  public init(_ code: Failure, _ message: String) { (self.code, self.message) = (code, message) }

  /// Compares the kinds of failure.
  public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

  /// Hashes the kind of failure.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension ClientError: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}
