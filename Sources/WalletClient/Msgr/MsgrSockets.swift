internal import HTTPClient
internal import HTTPProtocol
internal import Threading

/// Opens a server's streams, all on one thread, which an app that opens none goes without.
final class MsgrSockets: Sendable {
  private let options: WebSocketOptions
  private let client = Lock<WebSocketClient?>(nil)

  /// - Parameter options: whose authorities and time to connect hold here too.
  init(_ options: HTTPClientOptions) {
    var own = WebSocketOptions()
    own.connectTimeout = options.connectTimeout
    own.certificateAuthorities = options.certificateAuthorities
    self.options = own
  }

  /// Opens a WebSocket with a token.
  ///
  /// - Parameter url: where to, with the scheme `http` or `https`.
  /// - Throws: ``WebSocketError``.
  func connect(_ url: String, token: String) async throws(WebSocketError) -> WebSocket {
    // http becomes ws, https wss.
    guard url.hasPrefix("http"), let address = WebSocketURL("ws" + url.dropFirst(4)) else {
      throw WebSocketError(.unknownHost, "the server's URL is none with http or https")
    }
    let opener = try client.withLock { client throws(WebSocketError) in
      if let client { return client }
      let new = try WebSocketClient(options)
      client = new
      return new
    }
    var fields = HeaderFields()
    fields.append(.authorization, "Bearer \(token)")
    return try await opener.connect(to: address, fields: fields)
  }
}
