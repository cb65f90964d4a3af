/// The segments of a path, still percent-encoded, in order (RFC 3986 section 3.3).
///
/// `/a/b` has two, `/a/` has `a` and an empty one, `/` has one that is empty, `*` has none.
/// Nothing is normalized: `.` and `..` come as they are, for the router to refuse.
public struct PathSegments: Sequence, IteratorProtocol, Sendable {
  private var rest: ArraySlice<UInt8>

  /// The segments of a path.
  ///
  /// - Parameter path: as ``RequestHead/path`` has it.
  public init(_ path: ArraySlice<UInt8>) { rest = path.first == UInt8(ascii: "/") ? path : [] }

  /// The next segment, or nil after the last.
  public mutating func next() -> ArraySlice<UInt8>? {
    guard rest.popFirst() != nil else { return nil }
    let segment = rest.prefix { $0 != UInt8(ascii: "/") }
    rest = rest[segment.endIndex...]
    return segment
  }
}

extension RequestHead {
  /// The segments of the path.
  public var segments: PathSegments { PathSegments(path) }
}
