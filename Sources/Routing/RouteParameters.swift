internal import HTTPProtocol

/// The parts of a request's path that the parameters of its route's pattern matched.
///
/// They are ranges of the path. Reading one allocates nothing unless it is percent-encoded.
package struct RouteParameters: Sendable {
  /// The largest number of parameters of a pattern.
  static let limit = 4

  private let path: ArraySlice<UInt8>
  private let isEncoded: Bool
  private let names: [String]
  private let matches: RouteMatches

  init(of head: RequestHead, names: [String], matches: RouteMatches) {
    path = head.path
    isEncoded = head.isPathEncoded
    (self.names, self.matches) = (names, matches)
  }

  /// The bytes that a parameter matched, percent-decoded.
  ///
  /// - Parameter name: the parameter's name in the pattern. An unknown name gives no bytes.
  package subscript(name: String) -> ArraySlice<UInt8> {
    guard let index = names.firstIndex(of: name) else { return [] }
    let bytes = path[matches[index]]
    return isEncoded ? PercentEncoding.decode(bytes).map { $0[...] } ?? bytes : bytes
  }

  /// Returns the text that a parameter matched, percent-decoded.
  ///
  /// - Parameter name: the parameter's name in the pattern.
  /// - Returns: the text, or nil if it is not UTF-8.
  package func text(_ name: String) -> String? { String(validating: self[name], as: UTF8.self) }
}

/// The places of the parameters in a path, kept without an allocation.
struct RouteMatches: Sendable {
  private var starts: InlineArray<4, Int> = .init(repeating: 0)
  private var ends: InlineArray<4, Int> = .init(repeating: 0)
  private var count = 0

  subscript(index: Int) -> Range<Int> { index < count ? starts[index]..<ends[index] : 0..<0 }

  mutating func append(_ range: Range<Int>) {
    starts[count] = range.lowerBound
    ends[count] = range.upperBound
    count += 1
  }

  mutating func removeLast() { count -= 1 }
}
