internal import Compression
internal import Cryptography
internal import HTTPProtocol
internal import Time
internal import Wire

/// The responses with a file at one URL, prepared when the index is built, so that a request allocates nothing.
final class PreparedFile: Sendable {
  /// The responses in one content coding, without their bodies.
  private struct Coded: Sendable {
    let validators: Validators
    let plain: Response
    let tokenScript: Response
    let notModified: Response

    /// Prepares the responses.
    ///
    /// - Parameters:
    ///   - coding: the coding's name and the name of its encoder, or nil for the plain file.
    ///   - tag: the plain file's entity tag.
    ///   - modified: the value of `Last-Modified`.
    ///   - headers: the header fields of responses.
    ///   - isTokenScript: whether the type may be `application/tokenscript+xml`.
    init(
      _ coding: (name: String, encoder: String)?, _ tag: String, _ modified: HTTPDate,
      _ headers: ResponseHeaders, isTokenScript: Bool
    ) {
      let entityTag = EntityTag(coding.map { "\(tag)-\($0.encoder)" } ?? tag)
      validators = Validators(entityTag: entityTag, lastModified: modified)
      var validated = headers.common
      validated.append(.entityTag, entityTag.text)
      validated.append(.lastModified, modified.text)
      notModified = Response(.notModified, fields: validated)
      if let coding { validated.append(.contentEncoding, coding.name) }
      var plain = validated
      plain.append(contentsOf: ResponseHeaders.xml)
      self.plain = Response(.ok, fields: plain)
      guard isTokenScript else {
        tokenScript = self.plain
        return
      }
      validated.append(contentsOf: ResponseHeaders.tokenScript)
      tokenScript = Response(.ok, fields: validated)
    }
  }

  private let content: Content
  private let identity: Coded
  private let gzip: Coded
  private let brotli: Coded
  private let failed: Response

  /// Prepares the responses.
  ///
  /// - Parameters:
  ///   - content: the file's content.
  ///   - modified: the value of `Last-Modified`.
  ///   - headers: the header fields of responses.
  ///   - isTokenScript: whether the type may be `application/tokenscript+xml`.
  init(
    _ content: Content, modified: Timestamp, _ headers: ResponseHeaders, isTokenScript: Bool = true
  ) {
    self.content = content
    let tag = content.digest.hex
    let modified = HTTPDate(modified.seconds)
    func coded(_ coding: (name: String, encoder: String)?) -> Coded {
      Coded(coding, tag, modified, headers, isTokenScript: isTokenScript)
    }
    identity = coded(nil)
    gzip = coded(("gzip", Compression.gzipEncoder))
    brotli = coded(("br", Compression.brotliEncoder))
    failed = Response(.preconditionFailed, fields: headers.errors)
  }

  /// Responds to a request for the file, in the coding that the client prefers among those that are there.
  ///
  /// - Parameters:
  ///   - head: the request with its conditions.
  ///   - now: the present time; a later `If-Modified-Since` is ignored.
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

  /// Chooses the coding with the highest weight, and among equals the one with the fewest bytes.
  ///
  /// The plain content has the least weight unless the client names it, and is chosen if nothing else is acceptable.
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
