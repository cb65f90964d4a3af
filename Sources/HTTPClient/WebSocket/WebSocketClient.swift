public import HTTPProtocol
internal import Platform
internal import Transport

/// Opens WebSockets; all of one client share one thread, which ends with the last of them and the client.
public final class WebSocketClient: Sendable {
  private let options: WebSocketOptions
  let loop: EventLoop

  /// A client with a thread of its own.
  ///
  /// - Parameter options: times, limits, and the authorities to trust.
  /// - Throws: `.outOfResources`.
  public init(_ options: WebSocketOptions = WebSocketOptions()) throws(WebSocketError) {
    self.options = options
    do throws(SystemError) {
      loop = try EventLoop(named: "awd-websocket")
      try loop.start()
    } catch {
      throw WebSocketError(.outOfResources, "the system has no room for an event loop: \(error)")
    }
  }

  deinit { loop.execute { [loop] in loop.end() } }

  /// Opens a WebSocket.
  ///
  /// - Parameters:
  ///   - url: the server's address.
  ///   - fields: further fields of the request, such as `Authorization`.
  ///   - subprotocols: the subprotocols that are offered, the best first.
  /// - Returns: the WebSocket, after the server accepted the handshake.
  /// - Throws: ``WebSocketError``; `.refused` with the status of another response, `.cancelled` if the task is
  ///   cancelled meanwhile.
  public nonisolated(nonsending) func connect(
    to url: WebSocketURL, fields: HeaderFields = HeaderFields(), subprotocols: [String] = []
  ) async throws(WebSocketError) -> WebSocket {
    let state = WebSocketState(options)
    let link = WebSocketLink(url, fields, subprotocols, options, state, on: loop)
    loop.execute { link.connect() }
    let subprotocol: String?
    do throws(WebSocketError) {
      subprotocol = try await state.opened()
    } catch {
      if error == .cancelled { loop.execute { link.abort(.cancelled) } }
      throw error
    }
    return WebSocket(url, subprotocol, self, link, state)
  }
}
