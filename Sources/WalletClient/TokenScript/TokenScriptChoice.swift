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
