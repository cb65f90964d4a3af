/// The path of a file below the repository's root: segments of any bytes but NUL, separated by `/`.
///
/// Linux does not require names to be UTF-8, so the bytes identify a file, and the text is for people.
struct RepositoryPath: Hashable, Comparable, Sendable {
  /// The path without a leading slash.
  let bytes: [UInt8]

  /// Makes a path of its bytes, without a leading slash.
  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Makes a path of text, without a leading slash.
  init(_ text: String) { bytes = Array(text.utf8) }

  /// Returns the path of a name in this folder.
  ///
  /// - Parameter name: one segment.
  func appending(_ name: [UInt8]) -> RepositoryPath {
    RepositoryPath(bytes: bytes.isEmpty ? name : bytes + [UInt8(ascii: "/")] + name)
  }

  /// The segments of the path.
  var segments: [ArraySlice<UInt8>] { bytes.split(separator: UInt8(ascii: "/")) }

  /// The path as text, with U+FFFD for bytes that are not UTF-8.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The kind of a file in the repository, by its name.
  enum Kind: Equatable, Sendable {
    /// `*.xml` or `*.tsml`.
    case tokenScript
    /// `*.xml.gone` or `*.tsml.gone`, a mark that withdraws the file's contracts.
    case gone
  }

  /// The kind by the name, or nil for a file that the repository ignores.
  var kind: Kind? {
    if Self.isTokenScript(bytes[...]) { return .tokenScript }
    guard bytes.suffix(5).elementsEqual(".gone".utf8) else { return nil }
    return Self.isTokenScript(bytes.dropLast(5)) ? .gone : nil
  }

  /// Compares the paths by their bytes.
  static func < (left: RepositoryPath, right: RepositoryPath) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }

  private static func isTokenScript(_ name: ArraySlice<UInt8>) -> Bool {
    name.suffix(4) == Array(".xml".utf8)[...] || name.suffix(5) == Array(".tsml".utf8)[...]
  }
}

extension RepositoryPath: CustomStringConvertible {
  /// The path as text.
  var description: String { text }
}
