public import HTTPProtocol
internal import Synchronization

/// Opens WebSockets; all of one client share one thread, which ends with the last of them and the client.
public final class WebSocketClient: Sendable {
  private let options: WebSocketOptions
  private let loop: WebSocketLoop
  private let lastID = Atomic<UInt64>(0)

  /// A client with a thread of its own.
  ///
  /// - Parameter options: times, limits, and whom to trust.
  /// - Throws: `.outOfResources`.
  public init(_ options: WebSocketOptions = WebSocketOptions()) throws(WebSocketError) {
    self.options = options
    loop = try WebSocketLoop()
    try loop.start()
  }

  deinit { loop.post(.stop) }

  /// Opens a WebSocket.
  ///
  /// - Parameters:
  ///   - url: where to.
  ///   - fields: further fields of the request, such as `Authorization`.
  /// - Returns: the WebSocket, after the server accepted the handshake.
  /// - Throws: ``WebSocketError``; `.refused` with the status where the server answered otherwise,
  ///   `.cancelled` if the task is cancelled meanwhile.
  public nonisolated(nonsending) func connect(
    to url: WebSocketURL, fields: HeaderFields = HeaderFields()
  ) async throws(WebSocketError) -> WebSocket {
    let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
    let state = WebSocketState(options)
    loop.post(.open(id, url, fields, options, state))
    do throws(WebSocketError) {
      try await state.opened()
    } catch {
      if error == .cancelled { loop.post(.abort(id)) }
      throw error
    }
    return WebSocket(url, self, id: id, state)
  }

  func post(_ message: WebSocketLoop.Message) { loop.post(message) }
}
