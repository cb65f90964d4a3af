internal import Formats

/// The syntax of `host [":" port]` in `Host` and in absolute targets (RFC 9110 section 7.2).
enum Authority {
  /// Finds the host in an authority.
  ///
  /// An empty host is invalid for http and https (RFC 9110 section 4.2.1), and so is user
  /// information. A port is up to five digits, not above 65535, and may be empty.
  ///
  /// - Returns: the position of the host, brackets included, or nil if the authority is malformed.
  static func host(in bytes: Span<UInt8>, _ range: Range<Int>) -> Range<Int>? {
    guard !range.isEmpty else { return nil }
    var end = range.lowerBound
    if bytes[end] == UInt8(ascii: "[") {
      while end < range.upperBound, bytes[end] != UInt8(ascii: "]") { end += 1 }
      guard end < range.upperBound, isIPv6(bytes, range.lowerBound + 1..<end) else { return nil }
      end += 1
    } else {
      end = bytes.end(of: .hostName, in: range)
      guard end > range.lowerBound else { return nil }
    }
    guard end < range.upperBound else { return range }
    guard bytes[end] == UInt8(ascii: ":"), isPort(bytes, end + 1..<range.upperBound) else {
      return nil
    }
    return range.lowerBound..<end
  }

  private static func isPort(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard range.count <= 5 else { return false }
    var port = 0
    for index in range {
      guard let digit = bytes[index].digitValue else { return false }
      port = port * 10 + Int(digit)
    }
    return port <= 65535
  }

  /// Returns whether a range is an address of IPv6 without a zone (RFC 3986 section 3.2.2).
  private static func isIPv6(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    // No address is longer; this bounds the work.
    guard range.count <= 45 else { return false }
    let text = String(decoding: range.map { bytes[$0] }, as: UTF8.self)
    return text.contains(":") && IPAddress(text) != nil
  }
}
