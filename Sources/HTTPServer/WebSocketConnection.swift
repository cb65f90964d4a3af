package import HTTPProtocol

internal import Formats
internal import Transport

/// A WebSocket on a connection: carries out what its machine says, within the server's budgets.
final class WebSocketConnection: ServedProtocol {
  /// The connection releases this object when it ends, which breaks the cycle.
  private let connection: Connection
  private let peer: Peer
  private let server: ServerLoop
  var machine: WebSocketMachine
  /// The session's user, until the session is over.
  private var handler: (any WebSocketHandler)?
  private let highWaterMark: Int
  private let lowWaterMark: Int
  /// The input that is left for the next turn.
  private var leftover: [UInt8] = []
  private var peerHasEnded = false
  /// The moment at which the handler's timer fires.
  private var timer: Int64?

  /// The work for one peer before others have their turn: so much is a message, and a ping.
  private static let turnLimit = 256
  private static let messagePrice = 8
  /// The number of unsent bytes that are charged at once; fewer are when the clock ticks.
  private static let chargeLimit = 64 << 10

  private init(
    _ connection: Connection, _ peer: Peer, _ server: ServerLoop, _ acceptance: WebSocketAcceptance
  ) {
    self.connection = connection
    self.peer = peer
    self.server = server
    machine = WebSocketMachine(role: .server, limits: acceptance.limits, now: connection.loop.now)
    highWaterMark = acceptance.highWaterMark
    lowWaterMark = acceptance.lowWaterMark
  }

  /// Turns a connection whose handshake has been accepted into a WebSocket.
  ///
  /// - Parameter input: bytes that came behind the handshake; they are frames already.
  static func begin(
    on connection: Connection, _ peer: Peer, _ server: ServerLoop,
    _ acceptance: WebSocketAcceptance, input: [UInt8]
  ) {
    let webSocket = WebSocketConnection(connection, peer, server, acceptance)
    connection.become(webSocket)
    server.statistics.webSockets.bump()
    let session = WebSocketSession(loop: connection.loop, id: connection.id)
    webSocket.handler = acceptance.makeHandler(session)
    unsafe webSocket.received(input.span.bytes)
    webSocket.resumeReading()
  }

  /// Carries out what the machine asks for.
  private func perform(_ action: WebSocketMachine.Action?) {
    switch action {
    case .deliver(let message): handler?.received(message)
    case .write(.close, let payload): stage(.close, payload)
    case .write(let opcode, let payload):
      write(opcode, payload)
      if opcode == .ping { handler?.pinged() }
    case .confirm: handler?.ponged()
    case .end(_, let closeFrame, _):
      if let closeFrame { stage(.close, closeFrame) }
      connection.finish()
    case .finish: connection.finish()
    // A reader that is stuck never saw our close, even if the kernel took it: nothing is kept for it.
    case .abort: connection.cut()
    case nil: break
    }
  }

  // MARK: - Input

  func received(_ input: RawSpan) {
    peer.used()
    guard leftover.isEmpty else {
      // TLS may give more in the same turn.
      unsafe input.withUnsafeBytes { unsafe leftover.append(contentsOf: $0) }
      return
    }
    process(input)
  }

  /// Takes as much of the input as one turn allows.
  private func process(_ input: RawSpan) {
    var offset = 0
    var work = 0
    // What is asked for once more at the end of the input is a message that is not complete.
    while connection.isOpen, work < WebSocketConnection.turnLimit || offset == input.byteCount,
      let action = machine.next(input, from: &offset, now: connection.loop.now)
    {
      if case .deliver = action { work += WebSocketConnection.messagePrice } else { work += 1 }
      perform(action)
    }
    if machine.isHolding {
      connection.pauseReading()
      machine.hold(input.extracting(offset...))
    } else if offset < input.byteCount, connection.isOpen {
      connection.pauseReading()
      unsafe input.extracting(offset...).withUnsafeBytes {
        unsafe leftover.append(contentsOf: $0)
      }
      connection.awaitTurn()
    }
    if !isCharged { perform(machine.fail(1013)) }
  }

  func turnCame() {
    let input = exchange(&leftover, with: [])
    unsafe process(input.span.bytes)
    resumeReading()
    if peerHasEnded, leftover.isEmpty { perform(machine.peerEnded()) }
  }

  private func resumeReading() {
    guard leftover.isEmpty, !machine.isHolding, connection.isOpen else { return }
    connection.resumeReading()
  }

  func resumeReceiving() {
    guard let (message, rest) = machine.resume() else { return }
    if let message { handler?.received(message) }
    unsafe received(rest.span.bytes)
    resumeReading()
  }

  func peerEnded() {
    peerHasEnded = true
    if leftover.isEmpty { perform(machine.peerEnded()) }
  }

  // MARK: - Memory

  /// Charges the memory that the session takes now.
  private var isCharged: Bool {
    peer.hold(
      machine.heldBytes + leftover.count + connection.backlog + (handler?.heldBytes ?? 0))
  }

  /// The charge of the moment.
  var charge: MemoryCharge? { peer.presentCharge }

  func outputWaits() {
    if connection.backlog >= WebSocketConnection.chargeLimit, !isCharged { connection.cut() }
  }

  func lostMemory(of owner: ClientNetwork?) {
    // A proxy's connection may be another client's meanwhile.
    if owner == peer.owner { connection.cut() }
  }

  // MARK: - Output

  func send(_ message: WebSocketMessage) {
    guard machine.isOpen else { return }
    switch message {
    case .text(let bytes): write(.text, bytes)
    case .binary(let bytes): write(.binary, bytes)
    }
  }

  private func write(_ opcode: WebSocketFrame.Opcode, _ payload: [UInt8]) {
    guard connection.isOpen else { return }
    // One turn may produce more than the mark without the peer being slow.
    if connection.backlog + payload.count > highWaterMark { connection.flush() }
    guard connection.backlog + payload.count <= highWaterMark else {
      return close(1013, reason: "")
    }
    stage(opcode, payload)
    if connection.backlog > lowWaterMark { machine.becameBackedUp() }
  }

  private func stage(_ opcode: WebSocketFrame.Opcode, _ payload: [UInt8]) {
    connection.stage { machine.append(opcode, payload, to: &$0) }
  }

  func close(_ code: UInt16, reason: String) {
    guard connection.isOpen,
      let action = machine.close(code, reason: reason, now: connection.loop.now)
    else { return }
    perform(action)
    // A message that is held back is discarded, and the peer's close frame is looked for behind it.
    resumeReceiving()
  }

  func drained() {
    _ = isCharged
    guard machine.isBackedUp else { return }
    perform(machine.drained())
    if machine.isOpen { handler?.drained() }
  }

  // MARK: - Time

  func setTimer(after duration: Duration) { timer = connection.loop.now(after: duration) }

  func tick() {
    guard !connection.isStalled, isCharged else { return connection.cut() }
    let now = connection.loop.now
    if let timer, now >= timer, machine.isOpen {
      self.timer = nil
      handler?.timerFired()
    }
    perform(machine.tick(now: now))
  }

  func drain() {
    handler?.draining()
    close(1001, reason: "")
  }

  func ended() {
    guard let handler else { return }
    self.handler = nil
    server.statistics.webSockets.bump(-1)
    // Unread output is held on.
    leftover = []
    // What is under way is charged until it is done.
    if handler.heldBytes == 0 { _ = peer.hold(connection.backlog) }
    let code: UInt16? = if case .closed(let code, _) = machine.outcome { code } else { nil }
    handler.closed(code)
  }
}

/// The limits and the handler of an accepted WebSocket.
package struct WebSocketAcceptance: Sendable {
  /// The limits that the client is held to; by default it has a minute for a message, or for each piece of one.
  ///
  /// A connection holds memory for a message only while the peer goes on sending. It ends, because the size is bounded. A
  /// mobile link of 35 kbit/s is fast enough for any message. A peer that sends all but the end at once is closed after two
  /// minutes.
  package var limits = WebSocketMachine.Limits()
  /// The number of bytes that may wait to be sent; with more the session is closed with 1013.
  package var highWaterMark = 4 << 20
  /// The number of waiting bytes above which the peer counts as slow: once they are sent,
  /// ``WebSocketHandler/drained()`` is called, and only the last of the peer's pings is answered.
  package var lowWaterMark = 64 << 10
  /// The subprotocol that the handshake agrees on.
  package var subprotocol: String?
  /// Makes the handler of the session, on its loop.
  package var makeHandler: @Sendable (WebSocketSession) -> any WebSocketHandler

  /// An acceptance with the default limits.
  package init(makeHandler: @escaping @Sendable (WebSocketSession) -> any WebSocketHandler) {
    self.makeHandler = makeHandler
    limits.messageTime = .seconds(60)
  }
}
