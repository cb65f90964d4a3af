internal import FoundationEssentials
internal import HTTPClient
internal import HTTPProtocol

/// One of several signers' files for a contract.
///
/// Everything in it is the server's word: it helps the user to choose, and proves nothing.
public struct TokenScriptChoice: Sendable, Equatable, Encodable {
  /// The file's URL as the server wrote it, which may be relative to the URL asked.
  public let url: String
  /// The value for ``TokenScriptRequest/signer``, or nil if the server states none.
  public let signer: String?
  /// The name of the file or its signer for people, if the server states one.
  public let title: String?
  /// The key identifier of the signer, if the server states one.
  public let key: String?
  /// The time of the last modification as the server wrote it, if it states one.
  public let modified: String?

  /// The most choices that are read; a user could not choose among more.
  private static let limit = 100

  /// Reads the list of a response with status 300 (RFC 9110 section 15.4.1): the body if that is JSON, else the `Link`
  /// fields.
  ///
  /// - Parameter response: the response.
  /// - Returns: at most 100 choices.
  static func list(of response: IncomingResponse) -> [TokenScriptChoice] {
    let type = response.fields.first(.contentType)?.prefix { $0 != ";" } ?? ""
    if type.lowercased() == "application/json",
      let list = try? JSONDecoder().decode(JSONList.self, from: Data(response.body))
    {
      return list.choices.prefix(limit).map { choice in
        TokenScriptChoice(
          url: choice.url, signer: signer(in: choice.url), title: choice.signer, key: choice.key,
          modified: choice.modified)
      }
    }
    let links = response.fields.value(.link).map { WebLink.list($0) } ?? []
    return links.lazy.filter { $0.relations.contains("alternate") }.prefix(limit).map { link in
      TokenScriptChoice(
        url: link.target, signer: signer(in: link.target), title: link.title, key: nil,
        modified: nil)
    }
  }

  /// The value of `?signer=`.
  private static func signer(in url: String) -> String? {
    let bytes = Array(url.utf8)
    guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return nil }
    let query = bytes[(mark + 1)...].prefix { $0 != UInt8(ascii: "#") }
    return URLEncodedForm(query)?["signer"]
  }

  private struct JSONList: Decodable {
    struct Choice: Decodable {
      let url: String
      let signer: String?
      let key: String?
      let modified: String?
    }

    let choices: [Choice]
  }
}

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
      let name = rest.readPrefix { !$0.isBlank && !";,=".utf8.contains($0) }.lowercased()
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
      return rest.readPrefix { !$0.isBlank && !";,".utf8.contains($0) }
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

  fileprivate mutating func readPrefix(_ isTaken: (UInt8) -> Bool) -> String {
    let taken = prefix(while: isTaken)
    self = self[taken.endIndex...]
    return String(decoding: taken, as: UTF8.self)
  }
}
