internal import HTTPProtocol
internal import Routing

/// Decides which pages' requests are answered: the server's own, and those of origins that the operator has listed.
///
/// A browser sends some requests of other sites' pages without asking first, and says by `Origin` whose they are. Clients
/// that are no browsers send none.
struct OriginPolicy: Sendable {
  private static let allowOrigin = FieldName("Access-Control-Allow-Origin")
  private static let allowMethods = FieldName("Access-Control-Allow-Methods")
  private static let allowHeaders = FieldName("Access-Control-Allow-Headers")
  private static let exposeHeaders = FieldName("Access-Control-Expose-Headers")
  private static let maximumAge = FieldName("Access-Control-Max-Age")

  /// The origins, besides the server's own, whose pages may call.
  let listed: Set<WebOrigin>

  /// Checks the origin of a request.
  ///
  /// - Returns: the fields that let a page of a listed origin read the response; none for others.
  /// - Throws: 403 if it is another site's page that calls.
  func check(_ head: RequestHead) throws(HTTPError) -> HeaderFields {
    guard let text = head.value(.origin) else { return HeaderFields() }
    guard let origin = WebOrigin(text) else { throw Self.foreign }
    if listed.contains(origin) { return Self.fields(for: origin) }
    guard origin.isOf(host: head.authority) else { throw Self.foreign }
    return HeaderFields()
  }

  /// Answers the question of a browser whether a page may call (the Fetch standard's CORS-preflight request).
  func preflight(_ head: RequestHead) throws(HTTPError) -> Response {
    var fields = try check(head)
    fields.append(.allow, "OPTIONS, POST")
    fields.append(Self.allowMethods, "POST")
    fields.append(
      Self.allowHeaders, "Authorization, Content-Type, Title, Priority, Click, Tags, X-Gotify-Key")
    fields.append(Self.maximumAge, "600")
    return Response(.noContent, fields: fields)
  }

  private static let foreign = HTTPError(.forbidden, "this page's origin is not among the allowed")

  private static func fields(for origin: WebOrigin) -> HeaderFields {
    var fields = HeaderFields()
    fields.append(allowOrigin, origin.description)
    fields.append(exposeHeaders, "Retry-After")
    fields.append(.vary, "Origin")
    return fields
  }
}
