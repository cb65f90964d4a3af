public import HTTPProtocol

/// What answers the requests of a server; the server knows nothing else of it.
public protocol Responder: Sendable {
  /// Decides what a request needs, once its head is complete and before any of its body is read.
  ///
  /// Runs on the connection's event loop and must not block.
  ///
  /// - Parameter head: the request line and the header fields.
  /// - Returns: how the request is to be answered.
  func plan(for head: RequestHead) -> RequestPlan
}

/// How a request is answered, as its head alone decides.
public enum RequestPlan: Sendable {
  /// Answered at once; a body that follows is discarded.
  case refuse(Response)
  /// Answered inline on the connection's loop; the handler must not block.
  case respond(bodyLimit: Int, @Sendable (Request) -> Response)
  /// Answered by a task whose executor is the connection's loop.
  case task(bodyLimit: Int, @Sendable (Request) async -> Response)
  /// A WebSocket handshake, accepted or refused by a task on the connection's loop.
  case webSocket(@Sendable (Request) async -> WebSocketDecision)
}

/// The answer to a WebSocket handshake.
public enum WebSocketDecision: Sendable {
  case refuse(Response)
  case accept(WebSocketAcceptance)
}
