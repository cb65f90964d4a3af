internal import Cryptography
internal import HTTPProtocol
internal import ServiceKit
internal import Time
internal import TokenScriptReading

/// The responses with several signers' files for one contract and version: status 300 (RFC 9110, section 15.4.1).
///
/// There is neither `Location` nor a validator, so that no client follows or caches a choice that its user has not made.
final class PreparedChoices: Sendable {
  private let empty: Response
  private let json: Response
  private let html: Response

  /// Prepares the responses.
  ///
  /// - Parameters:
  ///   - candidates: one file of each signer, the newest first.
  ///   - contract: the contract.
  ///   - schema: the version.
  ///   - headers: the header fields of responses.
  init(
    _ candidates: [Candidate], contract: EthereumAddress, schema: SchemaVersion,
    _ headers: ResponseHeaders
  ) {
    let links = candidates.map { candidate in
      Link(candidate, among: candidates, path: "/\(schema)/\(contract.lowercase)")
    }
    var common = headers.common
    for link in links { common.append(.link, link.fieldValue) }
    common.append(contentsOf: ResponseHeaders.foreignContent)
    empty = Response(.multipleChoices, fields: common)
    func list(_ response: Response) -> Response {
      var response = response
      response.fields.append(contentsOf: common)
      return response
    }
    // Strings always have a JSON form; if they had none, the links would be enough.
    json = (try? Response(.multipleChoices, json: ["choices": links])).map(list) ?? empty
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

  /// Responds to a request, whose conditions are ignored.
  ///
  /// - Parameter head: the request. Its `Accept` decides about the form of the list.
  /// - Returns: 300, with a body only if `Accept` names JSON or HTML.
  func response(to head: RequestHead) -> Response {
    let accept = AcceptList(head, .accept)
    let jsonQuality = accept.quality(of: "application/json") ?? 0
    let htmlQuality = accept.quality(of: "text/html") ?? 0
    if jsonQuality > 0, jsonQuality >= htmlQuality { return json }
    return htmlQuality > 0 ? html : empty
  }
}

/// A link to one signer's file.
private struct Link: Encodable {
  let url: String
  let signer: String
  let key: String
  let modified: String

  init(_ candidate: Candidate, among candidates: [Candidate], path: String) {
    key = candidate.signer?.key ?? ""
    let name = candidate.signer?.commonName ?? key
    signer = name
    modified = HTTPDate(candidate.modified.seconds).text
    // A name that two signers bear selects neither.
    let isUnique = candidates.count { $0.isSigned(by: name) } == 1
    url = "\(path)?signer=\(PercentEncoding.encode(isUnique ? name : key))"
  }

  /// The value of `Link` (RFC 8288, section 3).
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
