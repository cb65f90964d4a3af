package import HTTPProtocol
internal import HTTPServer
package import Routing

extension RouteTable {
  /// Answers a request as a server would, but without one, for tests.
  ///
  /// - Parameter request: the request with its whole body.
  /// - Returns: the response: without a body to `HEAD`, 101 for a WebSocket that is accepted.
  package func respond(to request: Request) async -> Response {
    let origin = origin(of: request.head, from: request.origin)
    let request = Request(head: request.head, body: request.body, origin: origin)
    var response: Response
    switch plan(for: request.head, from: origin) {
    case .refuse(let refusal): response = refusal
    case .respond(let bodyLimit, let handler):
      response =
        request.body.count > bodyLimit ? tooLarge(request.head) : handler(request)
    case .task(let bodyLimit, let handler):
      response =
        request.body.count > bodyLimit ? tooLarge(request.head) : await handler(request)
    case .stream(let bodyLimit, let handler):
      if request.body.count > bodyLimit {
        response = tooLarge(request.head)
      } else {
        switch await handler(request) {
        case .respond(let whole): response = whole
        case .open(let opening): response = opening.head
        }
      }
    case .upload(let bodyLimit, let handler):
      response =
        request.body.count > bodyLimit
        ? tooLarge(request.head)
        : await handler(
          Request(head: request.head, origin: origin), RequestBody(whole: request.body))
    case .webSocket(let decide):
      switch await decide(request) {
      case .refuse(let refusal): response = refusal
      case .accept: response = Response(.switchingProtocols)
      }
    }
    if request.head.method == .head { response.body = .none }
    return response
  }
}
