/// The reason why a document can't be read.
public struct XMLError: Error, Sendable, Hashable {
  /// The kind of reason, for programs.
  public enum Code: Sendable, Hashable {
    /// Not well-formed XML, which includes empty and truncated files.
    case malformed
    /// Too many bytes.
    case tooLarge
    /// Too many levels.
    case tooDeep
    /// Too many of the other items that ``XMLLimits`` counts.
    case tooMany
    /// Bytes that are not UTF-8, or another declared encoding.
    case encoding
    /// A document type declaration.
    case doctype
  }

  /// The kind of reason.
  public let code: Code
  /// The line, from 1, or nil if it is not known.
  public let line: Int?
  /// The reason in words.
  public let message: String

  init(_ code: Code, line: Int? = nil, _ message: String) {
    (self.code, self.line, self.message) = (code, line, message)
  }
}

extension XMLError: CustomStringConvertible {
  /// The reason in words, with the line.
  public var description: String { line.map { "line \($0): \(message)" } ?? message }
}
