internal import Cryptography
internal import HTTPProtocol
internal import ServiceKit

/// Several signers' files for one contract and version, as 300 (RFC 9110 section 15.4.1).
///
/// Neither `Location` nor validators: a wallet that follows or caches by itself would choose
/// without its user.
final class PreparedChoices: Sendable {
  /// The files, the newest first.
  let candidates: [Candidate]
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
    self.candidates = candidates
    let links = candidates.map { candidate in
      Link(candidate, among: candidates, path: "/\(schema)/\(contract.lowercase)")
    }
    var common = fields.common
    for link in links { common.append(.link, link.fieldValue) }
    common.append(contentsOf: AnswerFields.ofForeignContent)
    bare = Response(.multipleChoices, fields: common)
    func response(_ type: String, _ body: String) -> Response {
      var fields = common
      fields.append(.contentType, type)
      return Response(
        .multipleChoices, fields: fields, body: .bytes(Bytes(Array(body.utf8))))
    }
    json = response(
      "application/json",
      "{\"choices\":[\(links.map(\.json).joined(separator: ","))]}")
    html = response(
      "text/html; charset=utf-8",
      """
      <!doctype html>
      <title>\(contract.checksummed)</title>
      <h1>\(contract.checksummed)</h1>
      <p>Several signers have published a TokenScript for this contract:</p>
      <ul>
      \(links.map(\.html).joined(separator: "\n"))
      </ul>

      """)
  }

  /// Answers a request; its conditions are ignored.
  ///
  /// - Parameter head: the request, whose `Accept` decides on the form of the list.
  /// - Returns: 300; without a body unless JSON or HTML is named.
  func response(to head: RequestHead) -> Response {
    switch AcceptHeader(head).preferred(of: ["application/json", "text/html"]) {
    case "application/json": json
    case "text/html": html
    default: bare
    }
  }
}

/// Where one signer's file is found.
private struct Link {
  let target: String
  let title: String
  let key: String
  let modified: HTTPDate

  init(_ candidate: Candidate, among candidates: [Candidate], path: String) {
    key = candidate.signer?.key ?? ""
    title = candidate.signer?.commonName ?? key
    modified = HTTPDate(candidate.modified)
    // A name that two of them bear says nothing.
    let isUnique = candidates.count { $0.isSigned(by: title) } == 1
    target = "\(path)?signer=\((isUnique ? title : key).percentEncoded)"
  }

  /// The value of `Link` (RFC 8288 section 3).
  var fieldValue: String {
    let isPlain = title.utf8.allSatisfy { (0x20..<0x7f).contains($0) }
    let parameter =
      isPlain
      ? "title=\"\(title.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
      : "title*=UTF-8''\(title.percentEncoded)"
    return "<\(target)>; rel=\"alternate\"; type=\"application/tokenscript+xml\"; \(parameter)"
  }

  var json: String {
    "{\"signer\":\(title.jsonQuoted),\"key\":\(key.jsonQuoted),"
      + "\"modified\":\(modified.text.jsonQuoted),\"url\":\(target.jsonQuoted)}"
  }

  var html: String {
    "<li><a href=\"\(target.htmlEscaped)\">\(title.htmlEscaped)</a>, "
      + "\(modified.text.htmlEscaped)</li>"
  }
}
