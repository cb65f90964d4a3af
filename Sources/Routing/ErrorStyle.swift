package import HTTPProtocol
internal import WebApps

/// The form of the error responses that the router makes for a service.
package enum ErrorStyle: Sendable {
  /// A body in JSON or HTML if `Accept` names one of them, else an empty body.
  case negotiated
  /// A body `{"error":"…"}` in any case.
  case json
  /// The service's own.
  case own(@Sendable (HTTPError) -> Response)
}

extension ErrorStyle {
  /// Makes the response to a failure.
  func response(_ error: HTTPError, to head: RequestHead, adding fields: HeaderFields) -> Response {
    var response = Response(error.status)
    switch self {
    case .json: response = Self.json(error)
    case .own(let make): response = make(error)
    case .negotiated:
      let accept = AcceptList(head, .accept)
      if accept.prefers("application/json", to: "text/html") {
        response = Self.json(error)
      } else if accept.quality(of: "text/html") ?? 0 > 0 {
        response = Self.html(error)
      }
      response.fields.append(.vary, "Accept")
    }
    for extra in [error.fields, fields] { response.fields.append(contentsOf: extra) }
    return response
  }

  private static func json(_ error: HTTPError) -> Response {
    // Encoding text doesn't fail. If it did, the status alone would have to do.
    (try? Response(error.status, json: error.members.merging(["error": error.message]) { $1 }))
      ?? Response(error.status)
  }

  private static func html(_ error: HTTPError) -> Response {
    let title = "\(error.status.code) \(error.status.reason)"
    let message = error.message == "\(error.status.reason)" ? "" : error.message
    var response = Response(
      error.status, type: "text/html; charset=utf-8",
      text: PageStyle.message.document(
        title: title, "<main>\n<h1>\(title)</h1>\n<p>\(message.htmlEscaped)</p>\n</main>"))
    response.fields.append(.contentSecurityPolicy, PageStyle.message.contentSecurityPolicy)
    return response
  }
}
