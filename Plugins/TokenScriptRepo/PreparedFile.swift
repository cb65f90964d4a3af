internal import Cryptography
internal import HTTPProtocol

/// A file as the answer at one URL, made once, so that a request builds nothing.
final class PreparedFile: Sendable {
  /// The file with its time.
  let candidate: Candidate
  /// The strong validator, quotes included (RFC 9110 section 8.8.3).
  let entityTag: [UInt8]
  /// The other validator.
  let lastModified: HTTPDate
  private let plain: Response
  private let tokenScript: Response
  private let notModified: Response

  /// Prepares the answers.
  ///
  /// - Parameters:
  ///   - candidate: the file with its time; its bytes must be there.
  ///   - fields: the fields of every answer.
  init(_ candidate: Candidate, _ fields: AnswerFields) {
    self.candidate = candidate
    entityTag = Array("\"\(Hex.encode(candidate.file.digest ?? []))\"".utf8)
    lastModified = HTTPDate(candidate.modified)
    var validators = fields.common
    validators.append(.entityTag, entityTag)
    validators.append(.lastModified, lastModified.text)
    let body = candidate.file.bytes.map { Response.Body.bytes($0) } ?? .none
    func response(_ type: String) -> Response {
      var fields = validators
      fields.append(.contentType, type)
      fields.append(contentsOf: AnswerFields.ofForeignContent)
      return Response(.ok, fields: fields, body: body)
    }
    plain = response("text/xml; charset=UTF-8")
    tokenScript = response("application/tokenscript+xml; charset=UTF-8")
    notModified = Response(.notModified, fields: validators)
  }

  /// Answers a request for this file.
  ///
  /// - Parameters:
  ///   - head: the request, whose conditions are heeded.
  ///   - now: the time, which no `If-Modified-Since` may be later than.
  /// - Returns: 200 with the file, or 304.
  func response(to head: RequestHead, now: HTTPDate) -> Response {
    let conditions = Preconditions(head, now: now)
    if conditions.areMet(entityTag: entityTag, lastModified: lastModified) { return notModified }
    return Self.wantsTokenScript(head) ? tokenScript : plain
  }

  /// Whether `Accept` wants `application/tokenscript+xml` no less than `text/xml`.
  private static func wantsTokenScript(_ head: RequestHead) -> Bool {
    // No other type that wallets name has a plus, so that the field is rarely taken apart.
    guard let value = head.value(.accept), value.utf8.contains(UInt8(ascii: "+")) else {
      return false
    }
    let accept = AcceptHeader(value)
    let quality = accept.quality(of: "application/tokenscript+xml")
    return quality > 0 && quality >= accept.quality(of: "text/xml")
  }
}
