internal import MsgrResources
internal import Cryptography
internal import HTTPProtocol
internal import Routing
internal import Platform
internal import Formats

/// The OpenAPI description of the service, as `GET /openapi.json` serves it.
struct ServiceDescription: Sendable {
  private let content = Bytes(Resource(msgr_openapi_json()).bytes)
  private let validators: Validators
  private let fields: HeaderFields
  private let clock: @Sendable () -> Timestamp

  /// Takes the description that is built into the program.
  ///
  /// - Parameter clock: returns the time; the present time counts as the time of modification, as the program may have been
  ///   replaced.
  init(clock: @escaping @Sendable () -> Timestamp) {
    let digest = SHA256.hash(Resource(msgr_openapi_json()).bytes)
    let tag = EntityTag(Hex.encode(digest.bytes.prefix(16)))
    let modified = HTTPDate(clock().seconds)
    validators = Validators(entityTag: tag, lastModified: modified)
    var fields = HeaderFields()
    fields.append(.cacheControl, "no-cache")
    fields.append(.entityTag, tag.text)
    fields.append(.lastModified, modified.text)
    self.fields = fields
    self.clock = clock
  }

  /// Returns the response to a request for the description.
  ///
  /// - Throws: ``HTTPError`` if the request demands another state than this.
  func response(to head: RequestHead) throws(HTTPError) -> Response {
    switch Preconditions.evaluate(head, validators, now: HTTPDate(clock().seconds)) {
    case .notModified: return Response(.notModified, fields: fields)
    case .failed: throw HTTPError(.preconditionFailed)
    case .proceed:
      var response = Response(.ok, fields: fields, body: .bytes(content))
      response.fields.append(.contentType, "application/json")
      return response
    }
  }
}
