internal import HTTPProtocol
internal import Transport

// Results of HTTP/1.1 handlers' tasks, which find the connection by its identifier, or not at all if it has ended.
extension Connection {
  /// Sends the response of a task.
  func deliver(_ response: Response) {
    (protocolHandler as? HTTP1Connection)?.respond(response)
  }

  /// Carries out what a task decided about a WebSocket handshake.
  ///
  /// - Parameter key: the handshake's `Sec-WebSocket-Key`.
  func deliver(_ decision: WebSocketDecision, key: [UInt8]) {
    guard let http = protocolHandler as? HTTP1Connection else { return }
    switch decision {
    case .refuse(let response): http.respond(response)
    case .accept(let acceptance): http.upgrade(acceptance, key: key)
    }
  }
}
