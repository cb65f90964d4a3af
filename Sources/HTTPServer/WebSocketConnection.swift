internal import HTTPProtocol

/// A WebSocket on a connection: decodes messages, answers pings, keeps the peer honest, and closes in order.
final class WebSocketConnection: ConnectionProtocol {
  /// The connection lets go of this object when it ends, which breaks the cycle.
  private let connection: Connection
  private var decoder: WebSocketDecoder
  private var handler: (any WebSocketHandler)?
  private let highWaterMark: Int
  private let lowWaterMark: Int
  private let pingInterval: UInt64
  private let messageTime: UInt64
  private let messageProgress: Int
  private var lastPing: UInt64
  private var unansweredPings = 0
  /// What stands in the last ping: a pong that says otherwise is not its answer (RFC 6455 section
  /// 5.5.3 allows pongs that nobody asked for).
  private var pingPayload: [UInt8] = []
  private var isAboveLowWater = false
  /// The last ping of a peer that doesn't read: it gets no more pongs than it takes (RFC 6455 section 5.5.3
  /// lets the last one answer for all).
  private var unansweredPing: [UInt8]?
  /// When a close frame was sent, the moment at which the peer's answer is no longer awaited.
  private var closeDeadline: UInt64?
  private var peerCode: UInt16?
  /// Whether the handler takes no message at the moment.
  private var isPaused = false
  /// The message that came nevertheless; until it is taken, nothing more is decoded.
  private var held: WebSocketMessage?
  /// What came behind it: at most what one read gives, for reading stops.
  private var undecoded: [UInt8] = []
  /// How many bytes of messages were held when they were last counted.
  private var countedBytes = 0
  /// While a message is unfinished, the moment by which it must have come to so many bytes.
  private var messageDeadline: (time: UInt64, count: Int)?
  /// When the handler's timer fires.
  private var timer: UInt64?

  /// How long the peer's close frame is awaited, in milliseconds.
  private static let closeTimeout: UInt64 = 5_000

  private init(_ connection: Connection, _ acceptance: WebSocketAcceptance) {
    self.connection = connection
    decoder = WebSocketDecoder(role: .server, maximumMessage: acceptance.maximumMessage)
    highWaterMark = acceptance.highWaterMark
    lowWaterMark = acceptance.lowWaterMark
    pingInterval = acceptance.pingInterval.milliseconds
    messageTime = acceptance.messageTime.milliseconds
    messageProgress = acceptance.messageProgress
    lastPing = connection.loop.now
  }

  /// Turns a connection whose handshake has been answered into a WebSocket.
  ///
  /// - Parameters:
  ///   - connection: the connection.
  ///   - acceptance: how the session is run.
  ///   - input: bytes that came behind the handshake; they are frames already.
  static func begin(
    on connection: Connection, _ acceptance: WebSocketAcceptance, input: [UInt8]
  ) {
    let webSocket = WebSocketConnection(connection, acceptance)
    connection.become(webSocket)
    connection.loop.statistics.webSockets.bump()
    let session = WebSocketSession(loop: connection.loop, id: connection.id)
    webSocket.handler = acceptance.makeHandler(session)
    unsafe webSocket.received(input.span.bytes)
    if webSocket.held == nil { connection.resumeReading() }
  }

  // MARK: - Input

  func received(_ input: RawSpan) {
    var offset = 0
    while connection.isOpen, held == nil, let event = decoder.next(input, from: &offset) {
      switch event {
      case .message(let message):
        messageDeadline = nil
        guard closeDeadline == nil else { continue }
        if isPaused { held = message } else { handler?.received(message) }
      case .ping(let payload):
        // Also while closing: the peer may still ask whether we live.
        if isAboveLowWater { unansweredPing = payload } else { send(.pong, payload) }
      case .pong(let payload):
        unansweredPings = 0
        guard !pingPayload.isEmpty, payload == pingPayload else { continue }
        pingPayload = []
        if closeDeadline == nil { handler?.ponged() }
      case .close(let code, _):
        peerCode = code ?? 1005
        if closeDeadline == nil { sendClose(code, reason: "") }
        connection.finish()
      case .violation(let code): fail(code)
      }
    }
    if held != nil {
      connection.pauseReading()
      unsafe input.withUnsafeBytes { unsafe undecoded.append(contentsOf: $0[offset...]) }
    }
    if messageDeadline == nil, decoder.unfinishedCount != nil { awaitMessage(from: 0) }
    countMessages()
  }

  private func awaitMessage(from count: Int) {
    messageDeadline = (connection.loop.now + messageTime, count + messageProgress)
  }

  /// Counts the memory of messages that aren't finished or taken; closes if there is no room for more.
  private func countMessages() {
    var bytes = decoder.unfinishedBytes + undecoded.count
    switch held {
    case .text(let message), .binary(let message): bytes += message.count
    case nil: break
    }
    guard bytes != countedBytes, handler != nil else { return }
    let hasRoom = connection.loop.server.countMessages(bytes - countedBytes)
    countedBytes = bytes
    if !hasRoom { fail(1013) }
  }

  /// Holds the next message back, and what is behind it; pings before it are still answered.
  func pauseReceiving() {
    if closeDeadline == nil { isPaused = true }
  }

  func resumeReceiving() {
    isPaused = false
    guard let message = held else { return }
    held = nil
    if closeDeadline == nil { handler?.received(message) }
    let input = undecoded
    undecoded = []
    unsafe received(input.span.bytes)
    if held == nil, connection.isOpen { connection.resumeReading() }
    countMessages()
  }

  func peerEnded() { connection.finish() }

  /// Ends the session because the peer broke the protocol: what still comes is discarded.
  private func fail(_ code: UInt16) {
    if closeDeadline == nil { sendClose(code, reason: "") }
    connection.finish()
  }

  // MARK: - Output

  func send(_ opcode: WebSocketFrame.Opcode, _ payload: [UInt8]) {
    guard connection.isOpen else { return }
    // What one turn produces may be more than the mark without the peer being slow.
    if connection.backlog + payload.count > highWaterMark { connection.flush() }
    guard connection.backlog + payload.count <= highWaterMark else {
      if closeDeadline == nil { close(1013, reason: "") }
      return
    }
    connection.stage { WebSocketFrame.append(opcode, payload, mask: nil, to: &$0) }
    if connection.backlog > lowWaterMark { isAboveLowWater = true }
  }

  func send(_ message: WebSocketMessage) {
    guard closeDeadline == nil else { return }
    switch message {
    case .text(let bytes): send(.text, bytes)
    case .binary(let bytes): send(.binary, bytes)
    }
  }

  private func sendClose(_ code: UInt16?, reason: String) {
    closeDeadline = connection.loop.now + WebSocketConnection.closeTimeout
    connection.stage { WebSocketFrame.appendClose(code, reason: reason, mask: nil, to: &$0) }
    // What is held back is discarded, and the peer's close is looked for behind it.
    resumeReceiving()
  }

  /// Begins the close handshake; messages that still come are discarded.
  func close(_ code: UInt16, reason: String) {
    guard closeDeadline == nil, connection.isOpen else { return }
    sendClose(code, reason: reason)
  }

  var backlog: Int { connection.backlog }

  func drained() {
    guard isAboveLowWater else { return }
    isAboveLowWater = false
    if let payload = unansweredPing.take() { send(.pong, payload) }
    if closeDeadline == nil { handler?.drained() }
  }

  // MARK: - Time

  func tick() {
    let now = connection.loop.now
    if let closeDeadline {
      // A reader that is stuck never saw our close, even if the kernel took it: nothing is kept for it.
      if now > closeDeadline { connection.cut() }
      return
    }
    if let timer, now >= timer {
      self.timer = nil
      handler?.timerFired()
    }
    guard closeDeadline == nil else { return }
    if let messageDeadline, let count = decoder.unfinishedCount {
      if now >= messageDeadline.time {
        guard count >= messageDeadline.count else { return fail(1008) }
        awaitMessage(from: count)
      }
      // No pong can overtake the frame that the peer is sending: it is not asked meanwhile.
      lastPing = now
      return
    }
    guard now - lastPing >= pingInterval else { return }
    guard unansweredPings < 2 else { return connection.cut() }
    lastPing = now
    unansweredPings += 1
    pingPayload = Array(String(now, radix: 16).utf8)
    send(.ping, pingPayload)
    handler?.pinged()
  }

  func setTimer(after duration: Duration) {
    timer = connection.loop.now + duration.milliseconds
  }

  func drain() {
    handler?.draining()
    close(1001, reason: "")
  }

  func ended() {
    guard let handler else { return }
    self.handler = nil
    connection.loop.statistics.webSockets.bump(-1)
    _ = connection.loop.server.countMessages(-countedBytes)
    handler.closed(peerCode)
  }
}
