internal import Formats
internal import Cryptography
internal import HTTPProtocol

/// A file of a web app, prepared in each content coding.
struct WebFile: Sendable {
  private struct Coded: Sendable {
    let coding: StaticString
    let bytes: Bytes
    let validators: Validators
    let fields: HeaderFields
  }

  private let codings: [Coded]

  /// Prepares a file.
  ///
  /// - Parameters:
  ///   - content: its bytes.
  ///   - type: the value of `Content-Type`.
  ///   - caching: the value of `Cache-Control`.
  init(
    _ content: [UInt8], type: String, caching: String,
    fields: [(name: StaticString, value: String)] = [], modified: HTTPDate
  ) {
    var common = HeaderFields()
    common.append(.contentType, type)
    common.append(.contentTypeOptions, "nosniff")
    common.append(.referrerPolicy, "no-referrer")
    common.append(.vary, "Accept-Encoding")
    common.append(.lastModified, modified.text)
    common.append(.cacheControl, caching)
    for field in fields { common.append(FieldName(field.name), field.value) }
    let digest = Hex.encode(SHA256.hash(content).bytes.prefix(16))
    let forms: [(StaticString, [UInt8]?)] = [
      ("identity", content), ("gzip", unsafe Compression.gzip(content.span.bytes)),
      ("br", unsafe Compression.brotli(content.span.bytes)),
    ]
    codings = forms.compactMap { coding, bytes in
      guard let bytes else { return nil }
      let tag = EntityTag("\(digest)-\(coding)")
      var fields = common
      fields.append(.entityTag, tag.text)
      if bytes != content { fields.append(.contentEncoding, "\(coding)") }
      return Coded(
        coding: coding, bytes: Bytes(bytes),
        validators: Validators(entityTag: tag, lastModified: modified), fields: fields)
    }
  }

  /// Responds to a request for the file, with the shortest of the codings that the client likes best.
  ///
  /// - Throws: 412 if the request demands another state than this.
  func response(to head: RequestHead, now: HTTPDate) throws(HTTPError) -> Response {
    let accept = AcceptList(head, .acceptEncoding)
    // The plain form is there first, and is sent if nothing else is acceptable.
    var best = codings[0]
    var weight = max(1, accept.isAbsent ? 1000 : accept.quality(ofCoding: "identity"))
    for coded in codings.dropFirst() where !accept.isAbsent {
      let quality = accept.quality(ofCoding: coded.coding)
      if quality > weight || quality == weight && coded.bytes.count < best.bytes.count {
        best = coded
        weight = quality
      }
    }
    switch Preconditions.evaluate(head, best.validators, now: now) {
    case .notModified: return Response(.notModified, fields: best.fields)
    case .failed: throw HTTPError(.preconditionFailed)
    case .proceed: return Response(.ok, fields: best.fields, body: .bytes(best.bytes))
    }
  }
}
