internal import HTTPClient
internal import HTTPProtocol
internal import Platform

/// The WebSockets of a server's streams, all on one thread, which starts with the first of them.
final class MsgrSockets: Sendable {
  private let options: WebSocketOptions
  private let client = Lock<WebSocketClient?>(nil)

  /// - Parameter options: give the certificate authorities and the time to connect.
  init(_ options: HTTPClientOptions) {
    var own = WebSocketOptions()
    own.connectTimeout = options.connectTimeout
    own.certificateAuthorities = options.certificateAuthorities
    self.options = own
  }

  /// Opens a WebSocket with a token.
  ///
  /// - Parameters:
  ///   - url: the stream's URL, with the scheme `http` or `https`.
  ///   - token: the device's token.
  /// - Throws: ``WebSocketError``.
  func connect(_ url: String, token: String) async throws(WebSocketError) -> WebSocket {
    // http becomes ws, https wss.
    guard url.hasPrefix("http"), let address = WebSocketURL("ws" + url.dropFirst(4)) else {
      throw WebSocketError(.unknownHost, "the server's URL must begin with http or https")
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
