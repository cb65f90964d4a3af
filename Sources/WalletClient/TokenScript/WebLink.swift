internal import HTTPProtocol

/// A link in a header (RFC 8288 section 3).
package struct WebLink: Equatable {
  /// The URI, as it was written.
  package let target: String
  private var parameters: [String: String] = [:]

  /// The kinds of the link, in lower case.
  package var relations: [String] {
    parameters["rel"]?.lowercased().split(separator: " ").map(String.init) ?? []
  }

  /// The target's name for people: `title*` (RFC 8187) if that can be read, else `title`.
  package var title: String? {
    if let extended = parameters["title*"] {
      let parts = extended.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
      if parts.count == 3, parts[0].lowercased() == "utf-8",
        let text = PercentEncoding.decodeText(Array(parts[2].utf8)[...])
      {
        return text
      }
    }
    return parameters["title"]
  }

  /// Reads the values of `Link` fields, whatever they are.
  ///
  /// - Parameter text: the values, joined by commas.
  /// - Returns: the links before the first malformed one.
  package static func list(_ text: String) -> [WebLink] {
    var rest = Array(text.utf8)[...]
    var links: [WebLink] = []
    while true {
      rest.skip { $0.isBlank || $0 == UInt8(ascii: ",") }
      guard let link = WebLink(&rest) else { return links }
      links.append(link)
    }
  }

  private init?(_ rest: inout ArraySlice<UInt8>) {
    guard rest.popFirst() == UInt8(ascii: "<"), let end = rest.firstIndex(of: UInt8(ascii: ">"))
    else { return nil }
    target = String(decoding: rest[..<end], as: UTF8.self)
    rest = rest[(end + 1)...]
    while true {
      rest.skip(\.isBlank)
      guard rest.first == UInt8(ascii: ";") else { break }
      rest.removeFirst()
      rest.skip(\.isBlank)
      let name = rest.take { !$0.isBlank && !";,=".utf8.contains($0) }.lowercased()
      rest.skip(\.isBlank)
      var value = ""
      if rest.first == UInt8(ascii: "=") {
        rest.removeFirst()
        rest.skip(\.isBlank)
        guard let read = Self.value(&rest) else { return nil }
        value = read
      }
      // Of several parameters of one name the first counts.
      if parameters[name] == nil { parameters[name] = value }
    }
    guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { return nil }
  }

  /// A token or a quoted string (RFC 9110 section 5.6.4).
  private static func value(_ rest: inout ArraySlice<UInt8>) -> String? {
    guard rest.first == UInt8(ascii: "\"") else {
      return rest.take { !$0.isBlank && !";,".utf8.contains($0) }
    }
    rest.removeFirst()
    var bytes: [UInt8] = []
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let escaped = rest.popFirst() else { return nil }
        bytes.append(escaped)
      default: bytes.append(byte)
      }
    }
    return nil
  }
}

extension UInt8 {
  fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func skip(_ isSkipped: (UInt8) -> Bool) { self = drop(while: isSkipped) }

  fileprivate mutating func take(_ isTaken: (UInt8) -> Bool) -> String {
    let taken = prefix(while: isTaken)
    self = self[taken.endIndex...]
    return String(decoding: taken, as: UTF8.self)
  }
}
