internal import HTTPProtocol
internal import Transport

/// A WebSocket that is open: carries out what its machine says.
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
      // The server's end of the connection is to be seen, also when the user had taken enough for now.
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
    // Messages that have not been taken will not be.
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
