internal import HTTPProtocol

/// A segment of all patterns that begin alike. Paths are looked up in an immutable tree of these.
final class RouteNode: Sendable {
  private let literals: [(bytes: [UInt8], node: RouteNode)]
  private let digits: [(count: Int, node: RouteNode)]
  /// The longest prefix comes first.
  private let prefixes: [(bytes: [UInt8], node: RouteNode)]
  private let any: RouteNode?
  private let rest: RouteTarget?
  private let target: RouteTarget?

  /// Builds the tree below a node.
  ///
  /// - Parameters:
  ///   - targets: the targets of the patterns. No two have the same segments.
  ///   - depth: the number of segments above this node.
  init(_ targets: [RouteTarget], depth: Int = 0) {
    target = targets.first { $0.segments.count == depth }
    rest = targets.first { $0.segments.count == depth + 1 && $0.segments[depth] == .rest }
    let deeper = Dictionary(grouping: targets.filter { $0.segments.count > depth }) {
      $0.segments[depth]
    }
    var literals: [(bytes: [UInt8], node: RouteNode)] = []
    var digits: [(count: Int, node: RouteNode)] = []
    var prefixes: [(bytes: [UInt8], node: RouteNode)] = []
    var any: RouteNode?
    for (segment, below) in deeper {
      switch segment {
      case .literal(let bytes): literals.append((bytes, RouteNode(below, depth: depth + 1)))
      case .digits(let count): digits.append((count, RouteNode(below, depth: depth + 1)))
      case .prefix(let bytes): prefixes.append((bytes, RouteNode(below, depth: depth + 1)))
      case .any: any = RouteNode(below, depth: depth + 1)
      case .rest: break
      }
    }
    (self.literals, self.digits) = (literals, digits)
    self.prefixes = prefixes.sorted { $0.bytes.count > $1.bytes.count }
    self.any = any
  }

  /// Finds the target of a path.
  ///
  /// - Parameters:
  ///   - path: the rest of the path: empty behind the last segment, else with a slash at its start.
  ///   - isEncoded: whether the path holds a `%`. All of them are well-formed.
  ///   - matches: takes the places of the parameters.
  /// - Returns: the best match, or nil if there is none.
  func target(
    of path: ArraySlice<UInt8>, isEncoded: Bool, _ matches: inout RouteMatches
  ) -> RouteTarget? {
    guard !path.isEmpty else { return target }
    let start = path.startIndex + 1
    let end = path[start...].first(at: UInt8(ascii: "/")) ?? path.endIndex
    let raw = path[start..<end]
    let segment = isEncoded ? PercentEncoding.decode(raw).map { $0[...] } ?? raw : raw
    let behind = path[end...]

    for (bytes, node) in literals where bytes.count == segment.count && segment.elementsEqual(bytes)
    {
      if let found = node.target(of: behind, isEncoded: isEncoded, &matches) { return found }
    }
    guard !segment.isEmpty, !Self.isDots(segment) else { return nil }
    for (count, node) in digits where segment.count == count && segment.allSatisfy(Self.isDigit) {
      matches.append(start..<end)
      if let found = node.target(of: behind, isEncoded: isEncoded, &matches) { return found }
      matches.removeLast()
    }
    for (bytes, node) in prefixes where Self.begins(segment, with: bytes) {
      matches.append(start..<end)
      if let found = node.target(of: behind, isEncoded: isEncoded, &matches) { return found }
      matches.removeLast()
    }
    if let any {
      matches.append(start..<end)
      if let found = any.target(of: behind, isEncoded: isEncoded, &matches) { return found }
      matches.removeLast()
    }
    guard let rest, !Self.hasDots(path) else { return nil }
    matches.append(start..<path.endIndex)
    return rest
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func begins(_ segment: ArraySlice<UInt8>, with prefix: [UInt8]) -> Bool {
    segment.count >= prefix.count
      && zip(segment, prefix).allSatisfy { byte, expected in
        byte == expected || expected >= UInt8(ascii: "a") && byte | 0x20 == expected
      }
  }

  /// Returns whether a segment is `.` or `..`. Clients resolve these before they send (RFC 3986 section 5.2.4): one that
  /// is sent is meant to lead where it shouldn't.
  private static func isDots(_ segment: ArraySlice<UInt8>) -> Bool {
    segment.count <= 2 && segment.allSatisfy { $0 == UInt8(ascii: ".") }
  }

  private static func hasDots(_ path: ArraySlice<UInt8>) -> Bool {
    (PercentEncoding.decode(path) ?? Array(path)).split(separator: UInt8(ascii: "/"))
      .contains(where: isDots)
  }
}
