internal import Foundation
internal import HTTPProtocol
internal import Observability
internal import Routing
internal import TestSupport
internal import Formats

/// Makes a table of routers, with a log that nobody reads.
func table(_ routers: Router..., metrics: Metrics = Metrics()) throws -> RouteTable {
  try RouteTable(routers, bodyLimit: 100, log: Log(level: .error, descriptor: -1), metrics: metrics)
}

extension RouteTable {
  /// Makes a request of its parts, and returns the response.
  func send(
    _ method: HTTPProtocol.Method, _ path: String, host: String = "h",
    fields: [(name: String, value: String)] = [], body: [UInt8] = [], peer: String = "127.0.0.1"
  ) async throws -> Response {
    let head = try RequestHead(method: method, path: path, authority: host, fields: fields)
    let origin = RequestOrigin(peer: peer, id: 0xabc)
    return await respond(to: Request(head: head, body: body, origin: origin))
  }
}

extension Response {
  /// The body as text.
  var text: String {
    switch body {
    case .none, .pieces: ""
    case .bytes(let bytes): String(decoding: bytes.array, as: UTF8.self)
    case .array(let array): String(decoding: array, as: UTF8.self)
    }
  }
}

/// Makes a handler that answers with a text and some parameters.
func echo(_ text: String, _ names: String...) -> Router.Handler {
  { _, parameters in
    let values = names.map { parameters.text($0) ?? "not UTF-8" }
    return Response(.ok, type: "text/plain", text: ([text] + values).joined(separator: " "))
  }
}
