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

  /// RFC 3986 section 3.2.2: eight groups, or fewer with one `::`; the last two may be dotted.
  private static func isIPv6(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    var groups = 0
    var compressed = false
    var index = range.lowerBound
    func isColon(_ position: Int) -> Bool {
      position < range.upperBound && bytes[position] == UInt8(ascii: ":")
    }
    if isColon(index) {
      guard isColon(index + 1) else { return false }
      compressed = true
      index += 2
    }
    while index < range.upperBound {
      let start = index
      while index < range.upperBound, bytes[index].hexValue != nil { index += 1 }
      if index < range.upperBound, bytes[index] == UInt8(ascii: ".") {
        guard isIPv4(bytes, start..<range.upperBound) else { return false }
        groups += 2
        break
      }
      guard (1...4).contains(index - start) else { return false }
      groups += 1
      guard index < range.upperBound else { break }
      guard isColon(index) else { return false }
      index += 1
      if isColon(index) {
        guard !compressed else { return false }
        compressed = true
        index += 1
      } else if index == range.upperBound {
        return false
      }
    }
    return compressed ? groups <= 7 : groups == 8
  }

  private static func isIPv4(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    var octets = 0
    var index = range.lowerBound
    while true {
      let start = index
      var value = 0
      while index < range.upperBound, let digit = bytes[index].digitValue, index - start < 3 {
        value = value * 10 + Int(digit)
        index += 1
      }
      let hasLeadingZero = index - start > 1 && bytes[start] == UInt8(ascii: "0")
      guard index > start, value <= 255, !hasLeadingZero else { return false }
      octets += 1
      guard index < range.upperBound else { return octets == 4 }
      guard bytes[index] == UInt8(ascii: "."), octets < 4 else { return false }
      index += 1
    }
  }
}
