/// The path of a file below the repository's root: any bytes but NUL, segments parted by `/`.
///
/// Linux does not ask names to be UTF-8, so the bytes are what identifies a file; the text is for
/// people.
struct RepositoryPath: Hashable, Comparable, Sendable {
  /// The path without a leading slash.
  let bytes: [UInt8]

  /// A path from its bytes.
  ///
  /// - Parameter bytes: the path without a leading slash.
  init(bytes: [UInt8]) { self.bytes = bytes }

  /// A path from text.
  ///
  /// - Parameter text: the path without a leading slash.
  init(_ text: String) { bytes = Array(text.utf8) }

  /// The path of something in this folder.
  ///
  /// - Parameter name: one segment.
  /// - Returns: the longer path.
  func appending(_ name: [UInt8]) -> RepositoryPath {
    RepositoryPath(bytes: bytes.isEmpty ? name : bytes + [UInt8(ascii: "/")] + name)
  }

  /// The segments, at least one for a path that isn't empty.
  var segments: [ArraySlice<UInt8>] { bytes.split(separator: UInt8(ascii: "/")) }

  /// Whether the bytes are UTF-8.
  var isUTF8: Bool { String(validating: bytes, as: UTF8.self) != nil }

  /// The path as text; what is not UTF-8 shows as U+FFFD.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// What a file's name says that it is to the repository.
  enum Kind: Equatable, Sendable {
    /// `*.xml` or `*.tsml`.
    case tokenScript
    /// The same with `.gone` behind it: it marks what the file served as gone.
    case gone
  }

  /// What the name says, or nil for a file that is none of the repository's business.
  var kind: Kind? {
    if Self.isTokenScript(bytes[...]) { return .tokenScript }
    let suffix = Array(".gone".utf8)
    guard bytes.count > suffix.count, bytes.suffix(suffix.count) == suffix[...] else { return nil }
    return Self.isTokenScript(bytes.dropLast(suffix.count)) ? .gone : nil
  }

  /// Orders paths by their bytes.
  static func < (left: RepositoryPath, right: RepositoryPath) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }

  private static func isTokenScript(_ name: ArraySlice<UInt8>) -> Bool {
    name.suffix(4) == Array(".xml".utf8)[...] || name.suffix(5) == Array(".tsml".utf8)[...]
  }
}

extension RepositoryPath: CustomStringConvertible {
  /// The same as ``text``.
  var description: String { text }
}
