internal import Platform

/// Conditional requests (RFC 9110 section 13).
public enum Preconditions {
  /// The outcome of a request's conditions.
  public enum Outcome: Sendable, Equatable {
    /// The request is served as if it had no conditions.
    case proceed
    /// 304: the client's copy is good.
    case notModified
    /// 412: the client asked for a state that this is not.
    case failed
  }

  /// Evaluates the conditions of a request in the order of RFC 9110 section 13.2.2.
  ///
  /// This is meant for responses with 200; nothing is allocated. `If-Modified-Since` counts
  /// for `GET` and `HEAD` alone. A date that is none, lies in the future, or comes twice counts as absent.
  ///
  /// - Parameter validators: those of the representation that would be sent.
  /// - Returns: the outcome.
  public static func evaluate(
    _ head: RequestHead, _ validators: Validators, now: HTTPDate
  ) -> Outcome {
    let reads = head.method == .get || head.method == .head
    let lastModified = validators.lastModified
    if let matches = listed(.ifMatch, in: head, validators.entityTag, isStrong: true) {
      guard matches else { return .failed }
    } else if let lastModified,
      let date = date(.ifUnmodifiedSince, in: head, validators, now: now), lastModified > date
    {
      return .failed
    }
    if let matches = listed(.ifNoneMatch, in: head, validators.entityTag, isStrong: false) {
      guard matches else { return .proceed }
      return reads ? .notModified : .failed
    }
    guard reads, let lastModified,
      let date = date(.ifModifiedSince, in: head, validators, now: now), date <= now,
      lastModified <= date
    else { return .proceed }
    return .notModified
  }

  /// Returns whether the fields of a name list a tag; nil without such a field.
  private static func listed(
    _ name: FieldName, in head: RequestHead, _ etag: EntityTag?, isStrong: Bool
  ) -> Bool? {
    var result: Bool?
    head.forEachValue(name) { value in
      result = result == true || EntityTag.list(value, matches: etag, isStrong: isStrong)
    }
    return result
  }

  /// The date in the only field of a name.
  private static func date(
    _ name: FieldName, in head: RequestHead, _ validators: Validators, now: HTTPDate
  ) -> HTTPDate? {
    guard let value = head.only(name) else { return nil }
    // Clients tell back what they were told: then there is nothing to read.
    let isOurs = value.span.isIdentical(to: validators.lastModifiedText.span)
    return isOurs ? validators.lastModified : HTTPDate(value, now: now)
  }
}

/// The validators that tell one state of a resource from another (RFC 9110 section 8.8).
public struct Validators: Sendable {
  /// The tag of the representation that would be sent.
  public let entityTag: EntityTag?
  /// The moment of the last modification.
  public let lastModified: HTTPDate?
  /// The moment of the last modification as clients are told it, and as they send it back.
  let lastModifiedText: [UInt8]

  /// Validators.
  ///
  /// - Parameters:
  ///   - entityTag: the tag of the representation that would be sent, or nil.
  ///   - lastModified: the moment of the last modification, or nil if it is not known.
  public init(entityTag: EntityTag?, lastModified: HTTPDate?) {
    self.entityTag = entityTag
    self.lastModified = lastModified
    lastModifiedText = lastModified.map { Array($0.text.utf8) } ?? []
  }
}

/// A validator of a representation (RFC 9110 section 8.8.3), a strong one: equality promises the same bytes.
public struct EntityTag: Hashable, Sendable {
  /// The text between the quotes.
  public let opaque: [UInt8]

  /// A tag made by the server.
  ///
  /// - Parameter opaque: printable ASCII without blank and quotation mark; anything else becomes `_`.
  public init(_ opaque: String) {
    self.opaque = opaque.utf8.map { Self.isTagByte($0) && $0 < 0x7f ? $0 : UInt8(ascii: "_") }
  }

  /// The tag as `ETag` has it: `"abc"`.
  public var text: String { "\"\(String(decoding: opaque, as: UTF8.self))\"" }

  /// `etagc` of RFC 9110 section 8.8.3.
  static func isTagByte(_ byte: UInt8) -> Bool { byte == 0x21 || byte >= 0x23 && byte != 0x7f }
}

extension EntityTag {
  /// Returns whether a value of `If-Match` or `If-None-Match` is `*` or lists this tag.
  ///
  /// Nothing is allocated. The part of the list behind a fault is not looked at.
  ///
  /// - Parameters:
  ///   - tag: the tag, or nil if there is none to match.
  ///   - isStrong: whether a weak tag of the list counts as another than the strong one (section 8.8.3.2).
  /// - Returns: whether it matches.
  static func list(_ value: ArraySlice<UInt8>, matches tag: EntityTag?, isStrong: Bool) -> Bool {
    if value.count == 1, value.first == UInt8(ascii: "*") { return true }
    guard let tag else { return false }
    var rest = value
    while true {
      rest = rest.drop { $0.isBlank || $0 == UInt8(ascii: ",") }
      let isWeak = rest.starts(with: "W/".utf8)
      if isWeak { rest = rest.dropFirst(2) }
      guard rest.popFirst() == UInt8(ascii: "\"") else { return false }
      let opaque = rest.prefix(while: isTagByte)
      rest = rest[opaque.endIndex...]
      guard rest.popFirst() == UInt8(ascii: "\"") else { return false }
      if !isStrong || !isWeak, opaque.elementsEqual(tag.opaque) { return true }
      rest = rest.drop(while: \.isBlank)
      guard rest.first == UInt8(ascii: ",") else { return false }
    }
  }
}

/// A moment as HTTP writes it, in whole seconds of UTC (RFC 9110 section 5.6.7).
public struct HTTPDate: Hashable, Comparable, Sendable {
  /// Seconds since 1970-01-01T00:00:00Z, leap seconds not counted.
  public let seconds: Int64

  /// A moment.
  ///
  /// - Parameter seconds: seconds since 1970-01-01T00:00:00Z.
  public init(_ seconds: Int64) { self.seconds = seconds }

  /// Returns whether a moment is before another.
  public static func < (left: HTTPDate, right: HTTPDate) -> Bool { left.seconds < right.seconds }

  // MARK: Reading

  /// Reads a date in any of the three forms: IMF-fixdate, RFC 850, asctime.
  ///
  /// The day of the month may lack its zero (`Thu, 1 Jan 1970 00:00:00 GMT`). The weekday must
  /// be a word and is not compared with the date. A leap second counts as the second after it.
  ///
  /// - Parameters:
  ///   - text: the field's value without surrounding blanks.
  ///   - now: the moment that a two-digit year is never more than 50 years ahead of.
  /// - Returns: nil for anything else.
  public init?(_ text: ArraySlice<UInt8>, now: HTTPDate) {
    // No form is longer; this bounds the work.
    guard text.count <= 40 else { return nil }
    var words = text.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    var weekday = words.removeFirst()
    var isYearShort = false
    if weekday.last == UInt8(ascii: ",") {
      weekday.removeLast()
      guard words.popLast()?.elementsEqual("GMT".utf8) == true else { return nil }
      isYearShort = words.count == 2
      if isYearShort {
        let date = words[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        words = date + [words[1]]
      }
    } else {
      // A day of one digit has two blanks before it.
      if words.count == 5, words[1].isEmpty { words.remove(at: 1) }
      guard weekday.count == 3, words.count == 4 else { return nil }
      words = [words[1], words[0], words[3], words[2]]
    }
    guard weekday.count >= 3, weekday.allSatisfy({ $0.lowercase &- 0x61 < 26 }), words.count == 4,
      let day = Self.number(words[0], 1...2), let month = Self.month(words[1]),
      let year = Self.number(words[2], isYearShort ? 2...2 : 4...4),
      let second = Self.second(words[3]),
      let moment = Timestamp(
        year: isYearShort ? now.year(endingIn: year) : year, month: month, day: day, second: second)
    else { return nil }
    self.init(moment.seconds)
  }

  private static func number(_ text: ArraySlice<UInt8>, _ digits: ClosedRange<Int>) -> Int64? {
    guard digits.contains(text.count) else { return nil }
    return text.reduce(0) { number, byte in
      byte.digitValue.flatMap { digit in number.map { $0 * 10 + Int64(digit) } }
    }
  }

  private static func month(_ text: ArraySlice<UInt8>) -> Int64? {
    months.firstIndex { $0.elementsEqual(text) }.map { Int64($0 + 1) }
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ].map(\.utf8)

  /// Returns the second of the day at a time.
  private static func second(_ text: ArraySlice<UInt8>) -> Int64? {
    let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      .compactMap { number($0, 2...2) }
    guard text.count == 8, parts.count == 3, parts[0] < 24, parts[1] < 60, parts[2] <= 60 else {
      return nil
    }
    return parts[0] * 3600 + parts[1] * 60 + parts[2]
  }

  /// Returns the last year with these digits that is at most 50 years ahead.
  private func year(endingIn digits: Int64) -> Int64 {
    let latest = (Int64(Timestamp(seconds: clamped).text("%Y")) ?? 0) + 50
    let year = latest - latest % 100 + digits
    return year > latest ? year - 100 : year
  }

  // MARK: Writing

  /// The date as IMF-fixdate, always 29 bytes: `Sun, 06 Nov 1994 08:49:37 GMT`.
  ///
  /// Years outside 1 to 9999 cannot be written; the first or the last second that can stands for them.
  public var text: String { Timestamp(seconds: clamped).text("%a, %d %b %04Y %H:%M:%S GMT") }

  /// A whole `Date` field line, CR LF included: what a server prepares once a second.
  public var fieldLine: [UInt8] { Array("Date: \(text)\r\n".utf8) }

  /// The seconds, within the years 1 to 9999.
  private var clamped: Int64 { min(max(seconds, -62_135_596_800), 253_402_300_799) }
}
