internal import Cryptography
internal import Glibc
internal import HTTPProtocol
internal import Transport

/// A WebSocket on its loop: connects, opens, and then hands the connection over to an ``OpenWebSocket``.
final class WebSocketLink: ConnectionProtocol, @unchecked Sendable {
  // Safe to share: other threads only pass it to closures that run on its loop.
  private enum Stage {
    case idle
    case connecting(ConnectionAttempt)
    /// TLS shakes hands, or the server's response to the opening handshake is awaited.
    case opening(Connection, WebSocketClientHandshake)
    case open(OpenWebSocket)
    case over
  }

  private let url: WebSocketURL
  private let fields: HeaderFields
  private let subprotocols: [String]
  private let options: WebSocketOptions
  private let state: WebSocketState
  private let loop: EventLoop
  private var stage = Stage.idle
  /// The moment by which the WebSocket must be open.
  private var deadline: Int64 = .max

  init(
    _ url: WebSocketURL, _ fields: HeaderFields, _ subprotocols: [String],
    _ options: WebSocketOptions, _ state: WebSocketState, on loop: EventLoop
  ) {
    (self.url, self.fields, self.subprotocols, self.options) = (url, fields, subprotocols, options)
    (self.state, self.loop) = (state, loop)
  }

  // MARK: - Requests of the user, on the loop

  func connect() {
    deadline = loop.now(after: options.connectTimeout)
    stage = .connecting(
      ConnectionAttempt(
        host: url.host, port: url.port, within: options.connectTimeout, on: loop
      ) { [self] result in
        switch result {
        case .success(let socket): open(socket)
        case .failure(let failure): abort(error(failure))
        }
      })
  }

  func send(_ message: WebSocketMessage) {
    guard case .open(let webSocket) = stage else { return state.handedOver(message.bytes.count) }
    webSocket.send(message)
  }

  /// Reads on.
  func resume() { if case .open(let webSocket) = stage { webSocket.resume() } }

  /// Begins the close handshake; a WebSocket that isn't open yet is dropped.
  func close(_ code: UInt16, reason: String) {
    guard case .open(let webSocket) = stage else { return abort(.closed) }
    webSocket.close(code, reason: reason)
  }

  /// Drops the connection, or the attempt to make one.
  func abort(_ error: WebSocketError) {
    state.end(.failed(error))
    switch stage {
    case .connecting(let attempt): attempt.cancel()
    case .opening(let connection, _): connection.abort()
    case .open(let webSocket): webSocket.abort()
    case .idle, .over: break
    }
    stage = .over
  }

  // MARK: - Opening

  private func open(_ socket: Int32) {
    var tls: TLSEndpoint?
    if url.isSecure {
      do throws(TLSFailure) {
        let context = try TLSContext.client(authorities: options.certificateAuthorities)
        tls = TLSEndpoint(context, .client(host: url.host))
        if tls == nil { throw .outOfMemory }
      } catch {
        Glibc.close(socket)
        return abort(self.error(error))
      }
    }
    guard let connection = loop.adopt(socket, tls: tls) else {
      return abort(WebSocketError(.outOfResources, "the system has no room for a connection"))
    }
    connection.readsAfterFailedWrite = true
    var fields = fields
    if !subprotocols.isEmpty {
      fields.append(.secWebSocketProtocol, subprotocols.joined(separator: ", "))
    }
    let handshake = WebSocketClientHandshake(
      host: url.authority, target: url.target, nonce: SecureRandom.bytes(16), fields: fields,
      subprotocols: subprotocols)
    stage = .opening(connection, handshake)
    connection.start(self)
    if tls == nil { secured() }
  }

  func secured() {
    guard case .opening(let connection, let handshake) = stage else { return }
    connection.stage { $0 += handshake.request }
  }

  func received(_ input: RawSpan) {
    guard case .opening(let connection, var handshake) = stage else { return }
    switch handshake.received(input, sha1: SHA1.hash) {
    case .incomplete: stage = .opening(connection, handshake)
    case .accepted(let frames):
      let webSocket = OpenWebSocket(connection, options, state)
      stage = .open(webSocket)
      connection.become(webSocket)
      state.open(handshake.subprotocol)
      unsafe webSocket.received(frames.span.bytes)
    case .refused(let status):
      end(WebSocketError(.refused(status), "the server responded with status \(status.code)"))
    case .invalid:
      end(WebSocketError(.malformed, "the server's response is no WebSocket handshake"))
    }
  }

  /// Tells the user why the WebSocket is not opened, and ends the connection in order.
  private func end(_ error: WebSocketError) {
    state.end(.failed(error))
    guard case .opening(let connection, _) = stage else { return }
    stage = .over
    connection.finish()
  }

  func tlsFailed(_ failure: TLSFailure) { end(error(failure)) }

  func peerEnded() { abort(.disconnected) }

  func drained() {}

  func tick() { if loop.now > deadline { abort(error(.timedOut)) } }

  func ended() {
    state.end(.failed(.disconnected))
    stage = .over
  }

  // MARK: - Errors

  private func error(_ failure: ConnectionAttempt.Failure) -> WebSocketError {
    switch failure {
    case .unknownHost: WebSocketError(.unknownHost, "\(url.host) has no address")
    case .notConnected:
      WebSocketError(.notConnected, "nobody listens on \(url.host) port \(url.port)")
    case .timedOut: WebSocketError(.timedOut, "\(url.host) port \(url.port) takes too long")
    case .outOfResources: WebSocketError(.outOfResources, "the system has no room for a socket")
    }
  }

  private func error(_ failure: TLSFailure) -> WebSocketError {
    switch failure {
    case .untrusted(let reason):
      WebSocketError(.tls, "the server's certificate is not trusted: \(reason)")
    case .noAuthorities:
      WebSocketError(.tls, "the file of root certificates can't be read")
    case .plainRequest, .protocolViolated: WebSocketError(.tls, "the server's TLS failed")
    case .outOfMemory:
      WebSocketError(.outOfResources, "OpenSSL has no memory for a connection")
    }
  }
}
