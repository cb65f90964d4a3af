internal import Cryptography
internal import HTTPProtocol

/// A file as the answer at one URL, made once, so that a request builds nothing.
final class PreparedFile: Sendable {
  private let entityTag: EntityTag
  private let lastModified: HTTPDate
  private let plain: Response
  private let tokenScript: Response
  private let notModified: Response
  private let failed: Response

  /// Prepares the answers.
  ///
  /// - Parameters:
  ///   - bytes: the file.
  ///   - digest: the SHA-256 of its bytes.
  ///   - modified: its time, in seconds since 1970.
  ///   - fields: the fields of every answer.
  ///   - isTokenScript: whether it may be called `application/tokenscript+xml`.
  init(
    _ bytes: Bytes, digest: [UInt8], modified: Int64, _ fields: AnswerFields,
    isTokenScript: Bool = true
  ) {
    entityTag = EntityTag(Hex.encode(digest))
    lastModified = HTTPDate(modified)
    var validators = fields.common
    validators.append(.entityTag, entityTag.text)
    validators.append(.lastModified, lastModified.text)
    func response(_ type: String) -> Response {
      var fields = validators
      fields.append(.contentType, type)
      fields.append(contentsOf: AnswerFields.ofForeignContent)
      return Response(.ok, fields: fields, body: .bytes(bytes))
    }
    plain = response("text/xml; charset=UTF-8")
    tokenScript = isTokenScript ? response("application/tokenscript+xml; charset=UTF-8") : plain
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
