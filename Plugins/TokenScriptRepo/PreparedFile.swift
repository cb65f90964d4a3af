internal import Cryptography
internal import HTTPProtocol

/// A file as the answer at one URL, made once, so that a request builds nothing.
final class PreparedFile: Sendable {
  /// The file with its time.
  let candidate: Candidate
  private let entityTag: EntityTag
  private let lastModified: HTTPDate
  private let plain: Response
  private let tokenScript: Response
  private let notModified: Response
  private let failed: Response

  /// Prepares the answers.
  ///
  /// - Parameters:
  ///   - candidate: the file with its time; its bytes must be there.
  ///   - fields: the fields of every answer.
  init(_ candidate: Candidate, _ fields: AnswerFields) {
    self.candidate = candidate
    entityTag = EntityTag(Hex.encode(candidate.file.digest ?? []))
    lastModified = HTTPDate(candidate.modified)
    var validators = fields.common
    validators.append(.entityTag, entityTag.text)
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
    failed = Response(Status(412), fields: fields.errors)
  }

  /// Answers a request for this file.
  ///
  /// - Parameters:
  ///   - head: the request, whose conditions are heeded.
  ///   - now: the time, which no `If-Modified-Since` may be later than.
  /// - Returns: 200 with the file, 304, or 412.
  func response(to head: RequestHead, now: HTTPDate) -> Response {
    switch Preconditions.evaluate(head, etag: entityTag, lastModified: lastModified, now: now) {
    case .notModified: return notModified
    case .failed: return failed
    case .proceed: break
    }
    let accept = AcceptList(head, .accept)
    guard let quality = accept.quality(of: "application/tokenscript+xml"), quality > 0,
      quality >= accept.quality(of: "text/xml") ?? 0
    else { return plain }
    return tokenScript
  }
}
