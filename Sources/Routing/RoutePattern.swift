/// A path with parameters, parsed.
struct RoutePattern: Sendable, Hashable {
  /// The demand on one segment of a path, in the order in which alternatives are tried.
  enum Segment: Sendable, Hashable {
    case literal([UInt8])
    case digits(Int)
    /// Begins with these bytes, which are in lower case; letters match in either case.
    case prefix([UInt8])
    case any
    /// Matches this segment and all behind it.
    case rest
  }

  /// The pattern as it was written.
  let text: String
  let segments: [Segment]
  /// The names of the parameters, in the order of the path.
  let names: [String]

  /// Parses a pattern. Patterns are part of the program, so a malformed one is a programming error.
  init(_ text: String) {
    precondition(text.hasPrefix("/"), "the pattern \(text) begins with a slash")
    self.text = text
    var names: [String] = []
    segments = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map {
      part in
      guard part.hasPrefix("{"), part.hasSuffix("}") else {
        precondition(!part.contains { "{}%".contains($0) }, "\(part) in \(text) is literal text")
        return .literal(Array(part.utf8))
      }
      let inner = part.dropFirst().dropLast()
      if inner.hasSuffix("...") {
        names.append(String(inner.dropLast(3)))
        return .rest
      }
      guard let colon = inner.firstIndex(of: ":") else {
        names.append(String(inner))
        return .any
      }
      names.append(String(inner[..<colon]))
      let constraint = inner[inner.index(after: colon)...]
      if constraint.hasPrefix("digits("), constraint.hasSuffix(")"),
        let count = Int(constraint.dropFirst(7).dropLast()), count > 0
      {
        return .digits(count)
      }
      if constraint.hasPrefix("prefix("), constraint.hasSuffix(")"), constraint.utf8.count > 8 {
        return .prefix(Array(constraint.dropFirst(7).dropLast().lowercased().utf8))
      }
      preconditionFailure("unknown constraint \(constraint) in \(text)")
    }
    precondition(!segments.dropLast().contains(.rest), "{…...} ends the pattern \(text)")
    precondition(names.count <= RouteParameters.limit, "too many parameters in \(text)")
    precondition(Set(names).count == names.count, "a name is used twice in \(text)")
    self.names = names
  }
}
