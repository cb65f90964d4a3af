internal import Formats
internal import Glibc
internal import Platform

/// The units of a quantity that is written as a whole number with one of them.
private struct Units {
  /// The unit suffixes with what they stand for, the largest first.
  let all: [(suffix: String, factor: Int64)]
  /// The text for nothing.
  let zero: String

  /// Returns the amount, or nil if the text isn't one or is too large.
  func parse(_ text: String) -> Int64? {
    // "ms" before "s": the longer suffix is the unit.
    let fitting = all.filter { text.hasSuffix($0.suffix) }
    guard let unit = fitting.max(by: { $0.suffix.count < $1.suffix.count }),
      let number = Int(digits: text.dropLast(unit.suffix.count))
    else { return nil }
    let (amount, overflow) = Int64(number).multipliedReportingOverflow(by: unit.factor)
    return overflow ? nil : amount
  }

  /// Writes an amount in the largest unit that needs no fraction.
  func text(_ amount: Int64) -> String {
    let unit = all.first { amount != 0 && amount.isMultiple(of: $0.factor) }
    return unit.map { "\(amount / $0.factor)\($0.suffix)" } ?? zero
  }
}

/// Reads and writes sizes in bytes: a whole number with a unit, `512B`, `64KiB`, `1MiB`.
enum ByteSize {
  private static let units = Units(
    all: [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)],
    zero: "0B")

  /// Returns the number of bytes, or nil if the text isn't a size or is too large.
  static func parse(_ text: String) -> Int? { units.parse(text).map { Int($0) } }

  /// Writes a size in the largest unit that needs no fraction.
  static func text(_ bytes: Int) -> String { units.text(Int64(bytes)) }
}

/// Reads and writes durations: a whole number with a unit, `500ms`, `30s`, `10m`, `24h`, `7d`.
package enum TimeSpan {
  private static let units = Units(
    all: [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)], zero: "0s")

  /// Returns the duration, or nil if the text isn't one or is too long.
  package static func parse(_ text: String) -> Duration? {
    units.parse(text).map { .milliseconds($0) }
  }

  /// Writes a duration in whole milliseconds, in the largest unit that needs no fraction.
  static func text(_ duration: Duration) -> String { units.text(duration.milliseconds) }
}

/// A password, key or token: text that doesn't appear in descriptions, logs and dumps.
package struct Secret: Sendable {
  /// The text itself.
  package let value: String

  package init(_ value: String) { self.value = value }

  /// True if the text is empty.
  package var isEmpty: Bool { value.isEmpty }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The text `***`, or nothing for an empty secret.
  package var description: String { isEmpty ? "" : "***" }
  /// The same as the description.
  package var debugDescription: String { description }
  /// A mirror without children, so that `dump` shows nothing.
  package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// A host without a port, as in the `Host` header: a name in lower case, or an IPv6 address in brackets.
package struct HostName: Sendable, Hashable, CustomStringConvertible {
  /// The host as text.
  package let description: String

  /// Parses a host.
  ///
  /// - Parameter text: a name in any case, an IPv4 address, or an IPv6 address in brackets. Anything else gives nil.
  package init?(_ text: String) {
    guard let url = PublicURL("http://\(text)"), url.path.isEmpty, !text.hasSuffix("/") else {
      return nil
    }
    let hasPort = url.authority.split(separator: "]").last?.contains(":") == true
    guard !hasPort || url.authority.hasSuffix("]") else { return nil }
    description = url.authority
  }
}

/// The URL at which clients reach the server: absolute, `http` or `https`, without user, query and fragment. It may have
/// a path, whose trailing slashes are cut.
package struct PublicURL: Sendable, Hashable, CustomStringConvertible {
  /// True if the scheme is `https`.
  package let isSecure: Bool
  /// The host, with the port if one is given.
  package let authority: String
  /// The path, which is empty or has a slash in front and none at its end.
  package let path: String

  /// The URL without a slash at its end.
  package var description: String { (isSecure ? "https://" : "http://") + authority + path }

  /// Parses a URL of this kind (RFC 3986, in ASCII). Anything else gives nil.
  package init?(_ text: String) {
    let scheme = text.hasPrefix("https://") ? "https://" : "http://"
    guard text.hasPrefix(scheme) else { return nil }
    let rest = text.dropFirst(scheme.count)
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    var path = rest[slash...]
    while path.hasSuffix("/") { path.removeLast() }
    guard Self.isAuthority(rest[..<slash]), Self.isPath(path) else { return nil }
    isSecure = scheme == "https://"
    authority = rest[..<slash].lowercased()
    self.path = String(path)
  }

  /// True if the URL names this machine for itself alone.
  package var isLocal: Bool {
    var host = authority[...]
    if !host.hasSuffix("]"), let colon = host.lastIndex(of: ":") { host = host[..<colon] }
    if host.hasPrefix("[") { host = host.dropFirst().dropLast() }
    return host == "localhost" || IPAddress(String(host))?.isLoopback == true
  }

  private static func isAuthority(_ text: Substring) -> Bool {
    var host = text
    if let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") {
      let port = Int(digits: text[text.index(after: colon)...])
      guard let port, (1...65535).contains(port) else { return false }
      host = text[..<colon]
    }
    if host.hasPrefix("["), host.hasSuffix("]") {
      return host.dropFirst().contains(":") && IPAddress(String(host.dropFirst().dropLast())) != nil
    }
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    return host.utf8.count <= 253
      && labels.allSatisfy { label in
        (1...63).contains(label.utf8.count)
          && label.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") }
          && !label.hasPrefix("-") && !label.hasSuffix("-")
      }
  }

  /// Returns whether a text consists of segments of `pchar` (RFC 3986 section 3.3).
  private static func isPath(_ text: Substring) -> Bool {
    var escapeDigits = 0
    for byte in text.utf8 {
      if escapeDigits > 0 {
        guard Character(UnicodeScalar(byte)).isHexDigit else { return false }
        escapeDigits -= 1
      } else if byte == UInt8(ascii: "%") {
        escapeDigits = 2
      } else if !byte.isLetterOrDigit && !"-._~!$&'()*+,;=:@/".utf8.contains(byte) {
        return false
      }
    }
    return escapeDigits == 0
  }
}

extension Int {
  /// Parses a number in decimal digits without a sign. Anything else gives nil.
  init?(digits text: some StringProtocol) {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard text.utf8.allSatisfy(digits.contains) else { return nil }
    self.init(text)
  }
}

extension String {
  /// The text in one line, with TOML's escapes for invisible characters.
  var singleLine: String {
    var text = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      default:
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator:
          let digits = String(scalar.value, radix: 16, uppercase: true)
          let width = digits.count <= 4 ? 4 : 8
          text += width == 4 ? "\\u" : "\\U"
          text += String(repeating: "0", count: width - digits.count) + digits
        default: text.unicodeScalars.append(scalar)
        }
      }
    }
    return text
  }

  /// The text as a TOML basic string in one line.
  var quoted: String {
    var text = ""
    for scalar in unicodeScalars {
      if scalar == "\"" || scalar == "\\" { text += "\\" }
      text.unicodeScalars.append(scalar)
    }
    return "\"\(text.singleLine)\""
  }

  /// The text as a TOML key, bare if possible.
  var asKey: String {
    let bare = utf8.allSatisfy { $0.isLetterOrDigit || "_-".utf8.contains($0) }
    return bare && !isEmpty ? self : quoted
  }

  /// The first 64 characters, with an ellipsis if there are more.
  var shortened: String {
    unicodeScalars.count <= 64 ? self : String(unicodeScalars.prefix(64)) + "…"
  }
}

extension String {
  /// The path without empty segments, `.`, and each `..` together with the folder before it: `config/../var` is `var`.
  ///
  /// A folder that is a symbolic link stays before `..`: the system would go on from where the link leads.
  var normalizedPath: String {
    let root = hasPrefix("/") ? "/" : ""
    var segments: [Substring] = []
    var isBelowRoot: Bool { segments.isEmpty && !root.isEmpty }
    for segment in split(separator: "/") where segment != "." {
      if segment == "..", isBelowRoot { continue }
      if segment == "..", let folder = segments.last, folder != "..",
        !Self.isLink(root + segments.joined(separator: "/"))
      {
        segments.removeLast()
      } else {
        segments.append(segment)
      }
    }
    let path = root + segments.joined(separator: "/")
    return path.isEmpty && !isEmpty ? "." : path
  }

  private static func isLink(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }
}
