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
    self.url = url
    self.fields = fields
    self.subprotocols = subprotocols
    self.options = options
    self.state = state
    self.loop = loop
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

  /// Reports why the WebSocket is not opened, and ends the connection in order.
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
    case .timedOut:
      WebSocketError(.timedOut, "\(url.host) port \(url.port) did not respond in time")
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

/// An open WebSocket: carries out the actions of its state machine.
final class OpenWebSocket: ConnectionProtocol {
  /// The connection releases this object when it ends, which breaks the cycle.
  private let connection: Connection
  private var machine: WebSocketMachine
  private let state: WebSocketState
  private let sendLimit: Int

  init(_ connection: Connection, _ options: WebSocketOptions, _ state: WebSocketState) {
    self.connection = connection
    machine = WebSocketMachine(
      role: .client, limits: WebSocketOptions.limits, now: connection.loop.now)
    self.state = state
    sendLimit = options.sendLimit
  }

  private func perform(_ action: WebSocketMachine.Action?) {
    switch action {
    case .deliver(let message): deliver([message])
    case .write(let opcode, let payload): stage(opcode, payload)
    case .end(let outcome, let closeFrame, let isLast):
      if let closeFrame { stage(.close, closeFrame) }
      state.end(WebSocketEnd(outcome))
      // The end of the connection must be noticed even while the user reads no messages.
      if isLast { connection.finish() } else { connection.resumeReading() }
    case .finish: connection.finish()
    case .abort:
      state.end(WebSocketEnd(.unresponsive))
      connection.abort()
    case .confirm, nil: break
    }
  }

  // MARK: - Input

  func received(_ input: RawSpan) {
    var offset = 0
    var messages: [WebSocketMessage] = []
    while connection.isReceiving,
      let action = machine.next(input, from: &offset, now: connection.loop.now)
    {
      if case .deliver(let message) = action {
        messages.append(message)
      } else {
        deliver(messages)
        messages = []
        perform(action)
      }
    }
    deliver(messages)
  }

  private func deliver(_ messages: [WebSocketMessage]) {
    if !messages.isEmpty, !state.deliver(messages) { connection.pauseReading() }
  }

  func resume() { connection.resumeReading() }

  func peerEnded() { perform(machine.peerEnded()) }

  // MARK: - Output

  func send(_ message: WebSocketMessage) {
    if machine.isOpen {
      switch message {
      case .text(let bytes): stage(.text, bytes)
      case .binary(let bytes): stage(.binary, bytes)
      }
    }
    state.handedOver(message.bytes.count, unsent: connection.backlog)
  }

  private func stage(_ opcode: WebSocketFrame.Opcode, _ payload: [UInt8]) {
    connection.stage { machine.append(opcode, payload, to: &$0) }
    if connection.backlog > sendLimit { machine.becameBackedUp() }
  }

  func close(_ code: UInt16, reason: String) {
    perform(machine.close(code, reason: reason, now: connection.loop.now))
    // Messages that wait are not read any more.
    connection.resumeReading()
  }

  func drained() {
    perform(machine.drained())
    state.wrote(unsent: connection.backlog)
  }

  // MARK: - Ends

  func abort() { connection.abort() }

  func tick() { perform(machine.tick(now: connection.loop.now, isReading: connection.isReading)) }

  func ended() { state.end(.failed(.disconnected)) }
}

extension WebSocketEnd {
  fileprivate init(_ outcome: WebSocketMachine.Outcome) {
    switch outcome {
    case .closed(let code, let reason):
      self = .closed(code, reason: String(decoding: reason, as: UTF8.self))
    case .failed(1009):
      self = .failed(WebSocketError(.tooLarge, "a message is longer than it may be"))
    case .failed(let code):
      self = .failed(
        WebSocketError(.malformed, "the server broke the WebSocket protocol (\(code))"))
    case .disconnected: self = .failed(.disconnected)
    case .unresponsive:
      self = .failed(WebSocketError(.timedOut, "the server does not respond any more"))
    }
  }
}
