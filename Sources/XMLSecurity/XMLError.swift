/// Why a document was not read.
public struct XMLError: Error, Sendable, Hashable {
  /// The kind of reason, for programs.
  public enum Code: Sendable, Hashable {
    /// Not well-formed XML: also an empty file and one that ends too early.
    case malformed
    /// More bytes than allowed.
    case tooLarge
    /// More levels than allowed.
    case tooDeep
    /// More of something else than ``XMLLimits`` allows.
    case tooMany
    /// Not UTF-8, or another encoding declared.
    case encoding
    /// A document type declaration.
    case doctype
  }

  /// The kind of reason.
  public let code: Code
  /// The line, from 1, where one is known.
  public let line: Int?
  /// The reason in words.
  public let message: String

  init(_ code: Code, line: Int? = nil, _ message: String) {
    self.code = code
    self.line = line
    self.message = message
  }
}

extension XMLError: CustomStringConvertible {
  /// The reason in words, with the line.
  public var description: String { line.map { "line \($0): \(message)" } ?? message }
}
