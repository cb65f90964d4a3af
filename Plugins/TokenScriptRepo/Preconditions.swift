internal import HTTPProtocol

/// What a client already has, and wants nothing sent for (RFC 9110 section 13).
///
/// Read only as far as a question needs: the common request has one of the two fields.
struct Preconditions: ~Copyable {
  private let head: RequestHead
  private let now: HTTPDate

  /// The conditions of a `GET` or a `HEAD`.
  ///
  /// - Parameters:
  ///   - head: the request.
  ///   - now: the time; a later `If-Modified-Since` counts as absent.
  init(_ head: RequestHead, now: HTTPDate) {
    self.head = head
    self.now = now
  }

  /// Whether 304 is the answer.
  ///
  /// `If-None-Match` wins; without it `If-Modified-Since` counts, unless it is no date (section
  /// 13.2.2).
  ///
  /// - Parameters:
  ///   - entityTag: that of the present representation, quotes included.
  ///   - lastModified: that of the present representation.
  func areMet(entityTag: [UInt8], lastModified: HTTPDate) -> Bool {
    if let first = head.first(.ifNoneMatch) {
      // The common case: one field with one tag.
      if first.elementsEqual(entityTag) { return true }
      return Self.lists(head.value(.ifNoneMatch) ?? "", entityTag)
    }
    guard let since = head.first(.ifModifiedSince), let date = HTTPDate(since, now: now),
      date <= now
    else { return false }
    return lastModified <= date
  }

  /// Whether a list of entity tags has one, by weak comparison (section 8.8.3.2).
  private static func lists(_ list: String, _ entityTag: [UInt8]) -> Bool {
    var rest = Array(list.utf8)[...]
    while let byte = rest.first {
      switch byte {
      case UInt8(ascii: "*"): return true
      case UInt8(ascii: "\""):
        guard let end = rest.dropFirst().firstIndex(of: byte) else { return false }
        if rest[...end].elementsEqual(entityTag) { return true }
        rest = rest[(end + 1)...]
      case UInt8(ascii: "W"), UInt8(ascii: "/"), UInt8(ascii: ","), UInt8(ascii: " "),
        UInt8(ascii: "\t"):
        rest.removeFirst()
      default: return false
      }
    }
    return false
  }
}
