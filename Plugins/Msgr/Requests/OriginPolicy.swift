internal import Formats
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
  /// The origin of `public_url`, which is the server's own whatever a proxy makes of `Host`.
  var own: WebOrigin?
  /// Reports a refused origin, and the `Host` of the request.
  var report: @Sendable (_ origin: String, _ host: String) -> Void = { _, _ in }

  /// Checks the origin of a request.
  ///
  /// - Returns: the fields that let a page of a listed origin read the response; none for others.
  /// - Throws: 403 if it is another site's page that calls.
  func check(_ head: RequestHead) throws(HTTPError) -> HeaderFields {
    guard let text = head.value(.origin) else { return HeaderFields() }
    guard let origin = WebOrigin(text) else { throw refusal(of: text, head) }
    if listed.contains(origin) { return Self.fields(for: origin) }
    guard origin == own || origin.isOf(host: head.authority) else { throw refusal(of: text, head) }
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

  private func refusal(of origin: String, _ head: RequestHead) -> HTTPError {
    report(String(origin.prefix(200)), head.authority)
    return HTTPError(.forbidden, "this page's origin is not among the allowed")
  }

  private static func fields(for origin: WebOrigin) -> HeaderFields {
    var fields = HeaderFields()
    fields.append(allowOrigin, origin.description)
    fields.append(exposeHeaders, "Retry-After")
    fields.append(.vary, "Origin")
    return fields
  }
}

/// The origin of a page (RFC 6454): scheme, host and port.
struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
  private let scheme: String
  /// The scheme's own port.
  private let ownPort: UInt16
  /// Host and port, without the scheme's own.
  private let authority: HostAndPort

  /// Reads an origin as browsers write it: `https://example.org`, or `http://[::1]:8080`.
  ///
  /// - Returns: nil for anything else, such as `null`.
  init?(_ text: String) {
    guard let url = WebURL(text, schemes: ["http", "https"]), url.isOrigin else { return nil }
    scheme = url.scheme
    ownPort = WebURL.usualPort(isSecure: scheme == "https")
    authority = HostAndPort(url, ownPort: ownPort)
  }

  /// Returns whether a page of the origin came from the server that a request is for.
  ///
  /// - Parameter host: host and port as the request names them. The scheme may be a proxy's.
  func isOf(host: String) -> Bool { HostAndPort(host, ownPort: ownPort) == authority }

  /// The origin as browsers write it.
  var description: String { "\(scheme)://\(authority)" }
}
