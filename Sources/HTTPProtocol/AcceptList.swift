/// The preferences of a client: the members of `Accept` or `Accept-Encoding` with their weights
/// (RFC 9110 sections 12.4.2, 12.5.1, 12.5.3).
///
/// The list is read anew for each query, which allocates nothing and suits the few that are made.
public struct AcceptList: Sendable {
  private let head: RequestHead
  private let name: FieldName

  /// The list in a request.
  ///
  /// - Parameter name: ``FieldName/accept`` or ``FieldName/acceptEncoding``.
  public init(_ head: RequestHead, _ name: FieldName) {
    self.head = head
    self.name = name
  }

  /// True if the request has no such field, so that nothing is preferred.
  public var isAbsent: Bool { head.first(name) == nil }

  /// The weight of a member that is named exactly; wildcards don't count, nor parameters but `q`.
  ///
  /// - Parameter member: a media type or a coding, compared without regard to case.
  /// - Returns: 0 (refused) to 1000; the highest if it is named more than once; nil if it isn't named.
  public func quality(of member: StaticString) -> Int? {
    var best: Int?
    head.forEachValue(name) { value in
      Self.forEachMember(of: value) { candidate, weight in
        guard candidate.span.equals(member, in: 0..<candidate.count) else { return }
        best = max(best ?? 0, weight)
      }
    }
    return best
  }

  /// Returns whether a client takes a member, and likes another one no better; both are named as for ``quality(of:)``.
  public func prefers(_ member: StaticString, to other: StaticString) -> Bool {
    guard let quality = quality(of: member), quality > 0 else { return false }
    return quality >= self.quality(of: other) ?? 0
  }

  /// The weight of a content coding: its own, else that of `*`.
  ///
  /// Without either, `identity` has 1000, since it is acceptable unless refused, and any other
  /// coding 0, since a client that doesn't name one need not know it.
  ///
  /// - Parameter coding: such as `gzip`, compared without regard to case.
  /// - Returns: 0 (not to be sent) to 1000.
  public func quality(ofCoding coding: StaticString) -> Int {
    quality(of: coding) ?? quality(of: "*") ?? (coding.equals("identity") ? 1000 : 0)
  }

  /// Calls a closure with each member and its weight in thousandths; members with a malformed
  /// weight are skipped.
  private static func forEachMember(
    of value: ArraySlice<UInt8>, _ body: (ArraySlice<UInt8>, Int) -> Void
  ) {
    var rest = value
    while !rest.isEmpty {
      var weight: Int? = 1000
      let first = part(&rest)
      while rest.first == UInt8(ascii: ";") {
        rest = rest.dropFirst()
        let parameter = part(&rest)
        if parameter.count >= 2, parameter.first?.lowercase == UInt8(ascii: "q"),
          parameter.dropFirst().first == UInt8(ascii: "=")
        {
          weight = thousandths(parameter.dropFirst(2))
        }
      }
      rest = rest.dropFirst()
      if let weight, !first.isEmpty { body(first, weight) }
    }
  }

  /// Takes what stands before the next `;` or `,` outside a quoted string, blanks dropped.
  private static func part(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var isQuoted = false
    var isEscaped = false
    var end = rest.startIndex
    while end < rest.endIndex {
      let byte = rest[end]
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if isQuoted {
        isEscaped = byte == UInt8(ascii: "\\")
      } else if byte == UInt8(ascii: ",") || byte == UInt8(ascii: ";") {
        break
      }
      end += 1
    }
    defer { rest = rest[end...] }
    return rest[rest.startIndex..<end].trimmed
  }

  /// `qvalue` of RFC 9110 section 12.4.2: `0`, `0.8`, `0.125`, `1.000`.
  private static func thousandths(_ text: ArraySlice<UInt8>) -> Int? {
    guard text.count <= 5, let whole = text.first?.digitValue, whole <= 1 else { return nil }
    var value = Int(whole) * 1000
    let fraction = text.dropFirst()
    guard let point = fraction.first else { return value }
    guard point == UInt8(ascii: ".") else { return nil }
    var place = 100
    for byte in fraction.dropFirst() {
      guard let digit = byte.digitValue else { return nil }
      value += Int(digit) * place
      place /= 10
    }
    return value <= 1000 ? value : nil
  }
}

extension ArraySlice<UInt8> {
  /// The slice without the blanks at both its ends.
  fileprivate var trimmed: Self {
    var slice = drop(while: \.isBlank)
    while slice.last?.isBlank == true { slice.removeLast() }
    return slice
  }
}

extension StaticString {
  /// Returns whether two texts are the same but for ASCII case.
  fileprivate func equals(_ other: StaticString) -> Bool {
    withUTF8Buffer { text in
      unsafe text.span.equals(other, in: 0..<text.count)
    }
  }
}
