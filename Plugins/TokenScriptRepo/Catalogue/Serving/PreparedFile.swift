internal import Formats
internal import Cryptography
internal import HTTPProtocol
internal import Platform

/// The responses with a file at one URL, prepared by the first request, so that the others allocate nothing.
final class PreparedFile: Sendable {
  /// The responses in one content coding, without their bodies. A class, as a copy of a structure would retain each part.
  private final class Coded: Sendable {
    let validators: Validators
    let plain: Response
    let tokenScript: Response
    let notModified: Response

    /// Prepares the responses.
    ///
    /// - Parameters:
    ///   - coding: the coding's name and the name of its encoder, or nil for the plain file.
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

  /// The responses in all codings.
  private final class Codings: Sendable {
    let identity: Coded
    let gzip: Coded
    let brotli: Coded

    init(_ coded: (_ coding: (name: String, encoder: String)?) -> Coded) {
      identity = coded(nil)
      gzip = coded(("gzip", Compression.gzipEncoder))
      brotli = coded(("br", Compression.brotliEncoder))
    }
  }

  private let content: Content
  private let modified: Timestamp
  private let headers: ResponseHeaders
  private let isTokenScript: Bool
  private let prepared = LazyReference<Codings>()

  /// Makes responses without preparing them: an index has many files that are never asked for.
  ///
  /// - Parameters:
  ///   - isTokenScript: whether the type may be `application/tokenscript+xml`.
  init(
    _ content: Content, modified: Timestamp, _ headers: ResponseHeaders, isTokenScript: Bool = true
  ) {
    self.content = content
    self.modified = modified
    self.headers = headers
    self.isTokenScript = isTokenScript
  }

  private var codings: Codings {
    if let codings = prepared.value { return codings }
    let tag = content.digest.hex
    let date = HTTPDate(modified.seconds)
    return prepared.keep(Codings { Coded($0, tag, date, headers, isTokenScript: isTokenScript) })
  }

  /// Responds to a request for the file, in the coding that the client prefers among those that are there.
  ///
  /// - Returns: 200 with the file, 304, or 412.
  /// - Throws: ``UnreadContent`` if the file's bytes are needed and not read yet.
  func response(to head: RequestHead, now: HTTPDate) throws(UnreadContent) -> Response {
    let (coded, variant) = choose(AcceptList(head, .acceptEncoding))
    switch Preconditions.evaluate(head, coded.validators, now: now) {
    case .notModified: return coded.notModified
    case .failed: return Response(.preconditionFailed, fields: headers.errors)
    case .proceed: break
    }
    guard let bytes = variant ?? content.bytes else { throw UnreadContent(content: content) }
    let isTokenScript = AcceptList(head, .accept).prefers(
      "application/tokenscript+xml", to: "text/xml")
    var response = isTokenScript ? coded.tokenScript : coded.plain
    response.body = .bytes(bytes)
    return response
  }

  /// Chooses the coding with the highest weight, and among equals the one with the fewest bytes.
  ///
  /// The plain content has the least weight unless the client names it, and is chosen if nothing else is acceptable.
  /// - Returns: the coding, and its bytes unless it is the plain content.
  private func choose(_ accept: AcceptList) -> (Coded, Bytes?) {
    let codings = codings
    guard !accept.isAbsent, let variants = content.variants else { return (codings.identity, nil) }
    var best: (coded: Coded, bytes: Bytes?) = (codings.identity, nil)
    var weight = max(1, accept.quality(of: "identity") ?? accept.quality(of: "*") ?? 0)
    func consider(_ coded: Coded, _ bytes: Bytes?, _ quality: Int) {
      guard let bytes,
        quality > weight
          || quality == weight && bytes.count < best.bytes?.count ?? content.size
      else { return }
      best = (coded, bytes)
      weight = quality
    }
    consider(codings.gzip, variants.gzip, accept.quality(ofCoding: "gzip"))
    consider(codings.brotli, variants.brotli, accept.quality(ofCoding: "br"))
    return best
  }
}

/// The error of a response that needs bytes which aren't read yet.
struct UnreadContent: Error {
  /// The content.
  let content: Content
}
