internal import Compression
internal import Cryptography
internal import HTTPProtocol

/// A file as the answer at one URL, made once, so that a request builds nothing.
final class PreparedFile: Sendable {
  /// The answers in one content coding; those with the file still lack it.
  private struct Coded: Sendable {
    let validators: Validators
    let plain: Response
    let tokenScript: Response
    let notModified: Response

    /// - Parameters:
    ///   - coding: the name and what the bytes depend on besides the content; nil: as it is.
    init(
      _ coding: (name: String, encoder: String)?, _ tag: String, _ modified: HTTPDate,
      _ fields: AnswerFields, isTokenScript: Bool
    ) {
      let entityTag = EntityTag(coding.map { "\(tag)-\($0.encoder)" } ?? tag)
      validators = Validators(entityTag: entityTag, lastModified: modified)
      var validated = fields.common
      validated.append(.entityTag, entityTag.text)
      validated.append(.lastModified, modified.text)
      notModified = Response(.notModified, fields: validated)
      if let coding { validated.append(.contentEncoding, coding.name) }
      var plain = validated
      plain.append(contentsOf: AnswerFields.ofXML)
      self.plain = Response(.ok, fields: plain)
      guard isTokenScript else {
        tokenScript = self.plain
        return
      }
      validated.append(contentsOf: AnswerFields.ofTokenScript)
      tokenScript = Response(.ok, fields: validated)
    }
  }

  private let content: Content
  private let identity: Coded
  private let gzip: Coded
  private let brotli: Coded
  private let failed: Response

  /// Prepares the answers.
  ///
  /// - Parameters:
  ///   - content: the file.
  ///   - modified: its time, in seconds since 1970.
  ///   - fields: the fields of every answer.
  ///   - isTokenScript: whether it may be called `application/tokenscript+xml`.
  init(_ content: Content, modified: Int64, _ fields: AnswerFields, isTokenScript: Bool = true) {
    self.content = content
    let tag = Hex.encode(content.digest)
    let modified = HTTPDate(modified)
    func coded(_ coding: (name: String, encoder: String)?) -> Coded {
      Coded(coding, tag, modified, fields, isTokenScript: isTokenScript)
    }
    identity = coded(nil)
    gzip = coded(("gzip", Compression.gzipEncoder))
    brotli = coded(("br", Compression.brotliEncoder))
    failed = Response(.preconditionFailed, fields: fields.errors)
  }

  /// Answers a request for this file, in the coding that the client likes best of those there are.
  ///
  /// - Parameters:
  ///   - head: the request, whose conditions are heeded.
  ///   - now: the time, which no `If-Modified-Since` may be later than.
  /// - Returns: 200 with the file, 304, or 412.
  func response(to head: RequestHead, now: HTTPDate) -> Response {
    let (coded, bytes) = choose(AcceptList(head, .acceptEncoding))
    switch Preconditions.evaluate(head, coded.validators, now: now) {
    case .notModified: return coded.notModified
    case .failed: return failed
    case .proceed: break
    }
    let accept = AcceptList(head, .accept)
    var response = coded.plain
    if let quality = accept.quality(of: "application/tokenscript+xml"), quality > 0,
      quality >= accept.quality(of: "text/xml") ?? 0
    {
      response = coded.tokenScript
    }
    response.body = .bytes(bytes)
    return response
  }

  /// The coding with the highest weight, and of several the one with the fewest bytes. The content
  /// as it is weighs nothing unless it is named, and is sent for want of anything better.
  private func choose(_ accept: AcceptList) -> (Coded, Bytes) {
    guard !accept.isAbsent, let variants = content.variants else {
      return (identity, content.bytes)
    }
    var best = (coded: identity, bytes: content.bytes)
    var weight = max(1, accept.quality(of: "identity") ?? accept.quality(of: "*") ?? 0)
    func consider(_ coded: Coded, _ bytes: Bytes?, _ quality: Int) {
      guard let bytes, quality > weight || quality == weight && bytes.count < best.bytes.count
      else { return }
      best = (coded, bytes)
      weight = quality
    }
    consider(gzip, variants.gzip, accept.quality(ofCoding: "gzip"))
    consider(brotli, variants.brotli, accept.quality(ofCoding: "br"))
    return best
  }
}
