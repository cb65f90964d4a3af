internal import Cryptography
internal import HTTPProtocol
internal import ServiceKit

/// Several signers' files for one contract and version, as 300 (RFC 9110 section 15.4.1).
///
/// Neither `Location` nor validators: what follows or caches by itself would choose without its
/// user.
final class PreparedChoices: Sendable {
  private let bare: Response
  private let json: Response
  private let html: Response

  /// Prepares the answers.
  ///
  /// - Parameters:
  ///   - candidates: one of each signer, the newest first.
  ///   - contract: the contract.
  ///   - schema: the version.
  ///   - fields: the fields of every answer.
  init(
    _ candidates: [Candidate], contract: EthereumAddress, schema: SchemaVersion,
    _ fields: AnswerFields
  ) {
    let links = candidates.map { candidate in
      Link(candidate, among: candidates, path: "/\(schema)/\(contract.lowercase)")
    }
    var common = fields.common
    for link in links { common.append(.link, link.fieldValue) }
    common.append(contentsOf: AnswerFields.ofForeignContent)
    bare = Response(.multipleChoices, fields: common)
    func list(_ response: Response) -> Response {
      var response = response
      response.fields.append(contentsOf: common)
      return response
    }
    // Text in structures always has a JSON form; if it hadn't, the links alone would have to do.
    json = (try? Response(.multipleChoices, json: ["choices": links])).map(list) ?? bare
    html = list(
      Response(
        .multipleChoices, type: "text/html; charset=utf-8",
        text: """
          <!doctype html>
          <title>\(contract.checksummed)</title>
          <h1>\(contract.checksummed)</h1>
          <p>Several signers have published a TokenScript for this contract:</p>
          <ul>
          \(links.map(\.html).joined(separator: "\n"))
          </ul>

          """))
  }

  /// Answers a request; its conditions are ignored.
  ///
  /// - Parameter head: the request, whose `Accept` decides on the form of the list.
  /// - Returns: 300; without a body unless JSON or HTML is named.
  func response(to head: RequestHead) -> Response {
    let accept = AcceptList(head, .accept)
    let jsonQuality = accept.quality(of: "application/json") ?? 0
    let htmlQuality = accept.quality(of: "text/html") ?? 0
    if jsonQuality > 0, jsonQuality >= htmlQuality { return json }
    return htmlQuality > 0 ? html : bare
  }
}

/// Where one signer's file is found.
private struct Link: Encodable {
  let url: String
  let signer: String
  let key: String
  let modified: String

  init(_ candidate: Candidate, among candidates: [Candidate], path: String) {
    key = candidate.signer?.key ?? ""
    let name = candidate.signer?.commonName ?? key
    signer = name
    modified = HTTPDate(candidate.modified).text
    // A name that means two of them says nothing.
    let isUnique = candidates.count { $0.isSigned(by: name) } == 1
    url = "\(path)?signer=\(PercentEncoding.encode(isUnique ? name : key))"
  }

  /// The value of `Link` (RFC 8288 section 3).
  var fieldValue: String {
    let isPlain = signer.utf8.allSatisfy { (0x20..<0x7f).contains($0) }
    let title =
      isPlain
      ? "title=\"\(signer.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
      : "title*=UTF-8''\(PercentEncoding.encode(signer))"
    return "<\(url)>; rel=\"alternate\"; type=\"application/tokenscript+xml\"; \(title)"
  }

  var html: String {
    "<li><a href=\"\(url.htmlEscaped)\">\(signer.htmlEscaped)</a>, \(modified)</li>"
  }
}
