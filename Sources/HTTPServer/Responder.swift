package import Formats
package import HTTPProtocol

/// The application behind a server: responds to its requests.
package protocol Responder: Sendable {
  /// Decides what a request needs, once its head is complete and before any of its body is read.
  ///
  /// Runs on the connection's event loop and must not block.
  ///
  /// - Parameters:
  ///   - head: the request line and the header fields.
  ///   - origin: the client's origin.
  /// - Returns: the way to respond.
  func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan
  /// Decides whether a peer's word on the origin of its requests counts.
  ///
  /// - Parameter peer: the peer's address; nil for a Unix socket.
  func isProxy(_ peer: IPAddress?) -> Bool
  /// Finds the origin of a request that a proxy passed on, as soon as its head is complete.
  ///
  /// - Parameters:
  ///   - head: the request line and the header fields.
  ///   - origin: the proxy's own address.
  /// - Returns: the client's origin.
  func origin(of head: RequestHead, from origin: RequestOrigin) -> RequestOrigin
}

extension Responder {
  /// Trusts nobody.
  package func isProxy(_ peer: IPAddress?) -> Bool { false }
  /// Returns the origin as it is.
  package func origin(of head: RequestHead, from origin: RequestOrigin) -> RequestOrigin { origin }
}

/// The way in which a request is responded to, as its head alone decides.
package enum RequestPlan: Sendable {
  /// Responds at once; a body that follows is discarded.
  case refuse(Response)
  /// Responds inline on the connection's loop; the handler must not block.
  case respond(bodyLimit: Int, @Sendable (Request) -> Response)
  /// Responds by a task whose executor is the connection's loop.
  case task(bodyLimit: Int, @Sendable (Request) async -> Response)
  /// A WebSocket handshake, accepted or refused by a task on the connection's loop.
  case webSocket(@Sendable (Request) async -> WebSocketDecision)
}

/// The decision on a WebSocket handshake.
package enum WebSocketDecision: Sendable {
  case refuse(Response)
  case accept(WebSocketAcceptance)
}
