internal import Platform

/// One end of a WebSocket behind its handshake, without I/O (RFC 6455): messages, pings, the close handshake, limits.
///
/// Bytes, times and requests of the user go in; what is to be done comes out as an ``Action``, which the driver carries
/// out before it calls again. Moments are milliseconds of a clock that never goes back.
public struct WebSocketMachine: Sendable {
  private enum State {
    case open(Open)
    /// Our close frame is sent, and the peer's is awaited.
    case closing(deadline: Int64)
    /// Both close frames are exchanged, and the server is to end the TCP connection (RFC 6455 section 7.1.1).
    case awaitingEnd(Outcome, deadline: Int64)
    case over(Outcome)
  }

  private struct Open {
    /// The moment at which the peer was last asked for a sign of life, or gave one unasked.
    var askedAt: Int64
    var unansweredPings = 0
    /// The content of the last ping, and of the one before it, while they are not answered. Only their pongs are signs of
    /// life: RFC 6455 section 5.5.3 allows any others too, which a peer that reads nothing can send.
    var awaitedPong: [UInt8]?
    var earlierPong: [UInt8]?
    /// While a message is unfinished, the moment by which it must have grown to a number of bytes.
    var messageDeadline: (time: Int64, count: Int)?
  }

  /// The treatment of the next message.
  private enum Reception {
    case flowing
    /// It is held back.
    case paused
    /// It is held back if it has come, with the bytes behind it.
    case holding(WebSocketMessage?, rest: [UInt8])
  }

  /// The treatment of pongs.
  private enum Output {
    case flowing
    /// The peer does not read: it gets no more pongs than it takes. The last one may answer for all (RFC 6455 section
    /// 5.5.3).
    case backedUp(owedPong: [UInt8]?)
  }

  private let role: WebSocketDecoder.Role
  private let pingInterval: Int64
  private let closeTimeout: Int64
  private let messageTime: Int64?
  private let messageProgress: Int
  private var decoder: WebSocketDecoder
  private var state: State
  private var reception = Reception.flowing
  private var output = Output.flowing

  /// The time in which the server must end the TCP connection, in milliseconds.
  private static let endTimeout: Int64 = 2_000

  /// A session that has just been opened.
  ///
  /// - Parameters:
  ///   - role: the end that this is.
  ///   - limits: the limits that the peer is held to.
  ///   - now: the moment, in milliseconds.
  public init(role: WebSocketDecoder.Role, limits: Limits, now: Int64) {
    self.role = role
    decoder = WebSocketDecoder(role: role, maximumMessage: limits.maximumMessage)
    pingInterval = Self.milliseconds(limits.pingInterval)
    closeTimeout = Self.milliseconds(limits.closeTimeout)
    messageTime = limits.messageTime.map(Self.milliseconds)
    messageProgress = limits.messageProgress
    state = .open(Open(askedAt: now))
  }

  /// Keeps the sum of a moment and a duration within bounds.
  private static func milliseconds(_ duration: Duration) -> Int64 {
    min(max(duration.milliseconds, 0), .max / 2)
  }

  /// True if messages may be sent: neither end has begun to close.
  public var isOpen: Bool { if case .open = state { true } else { false } }

  /// The longest message that is taken, in bytes, beginning with the next frame.
  public var maximumMessage: Int {
    get { decoder.maximumMessage }
    set { decoder.maximumMessage = newValue }
  }

  /// The way in which the session ended, or nil before its end.
  public var outcome: Outcome? {
    switch state {
    case .open, .closing: nil
    case .awaitingEnd(let outcome, _), .over(let outcome): outcome
    }
  }

  // MARK: Input

  /// Reads on in bytes of the peer, until there is something to do.
  ///
  /// - Parameters:
  ///   - input: the bytes.
  ///   - offset: the position to begin at; moved past the bytes that were read.
  ///   - now: the moment, in milliseconds.
  /// - Returns: the next step, or nil when all was read, or, while a message is held back, for the time being.
  public mutating func next(_ input: RawSpan, from offset: inout Int, now: Int64) -> Action? {
    if role == .client { recordActivity(at: now) }
    while !isHolding, let event = decoder.next(input, from: &offset) {
      if let action = handle(event, at: now) { return action }
    }
    recordUnfinishedMessage(at: now)
    return nil
  }

  /// A server that sends anything is alive; a client is asked nevertheless, as its pongs confirm what it got.
  private mutating func recordActivity(at now: Int64) {
    change { open in
      open.askedAt = now
      open.unansweredPings = 0
    }
  }

  private mutating func handle(_ event: WebSocketDecoder.Event, at now: Int64) -> Action? {
    switch event {
    case .message(let message): return receive(message)
    case .ping(let payload):
      // Also while closing: the peer may still ask for a sign of life.
      guard case .backedUp = output else { return .write(.pong, payload) }
      output = .backedUp(owedPong: payload)
      return nil
    case .pong(let payload): return receivePong(payload)
    case .close(let code, let reason):
      let reply = isOpen ? WebSocketFrame.closePayload(code) : nil
      return end(.closed(code ?? WebSocketClose.none, reason: reason), reply, at: now)
    case .violation(let code): return fail(code)
    }
  }

  private mutating func receive(_ message: WebSocketMessage) -> Action? {
    guard change({ $0.messageDeadline = nil }) else { return nil }
    guard case .paused = reception else { return .deliver(message) }
    reception = .holding(message, rest: [])
    return nil
  }

  private mutating func receivePong(_ payload: [UInt8]) -> Action? {
    var isAnswer = false
    change { open in
      if let earlier = open.earlierPong, payload == earlier {
        open.earlierPong = nil
        open.unansweredPings = 1
      } else if let awaited = open.awaitedPong, payload == awaited {
        open.awaitedPong = nil
        open.earlierPong = nil
        open.unansweredPings = 0
        isAnswer = true
      }
    }
    return isAnswer ? .confirm : nil
  }

  private mutating func recordUnfinishedMessage(at now: Int64) {
    guard let messageTime, decoder.unfinishedCount != nil else { return }
    change { [messageProgress] open in
      guard open.messageDeadline == nil else { return }
      open.messageDeadline = (now + messageTime, messageProgress)
    }
  }

  /// Changes the state of an open session.
  ///
  /// - Returns: whether the session is open.
  @discardableResult
  private mutating func change(_ body: (inout Open) -> Void) -> Bool {
    guard case .open(var open) = state else { return false }
    body(&open)
    state = .open(open)
    return true
  }

  // MARK: Back-pressure

  /// True if no input is read before ``resume()``, because a message is held back or all is.
  public var isHolding: Bool { if case .holding = reception { true } else { false } }

  /// Holds the next message back; pings before it are still answered.
  public mutating func pause() { if isOpen, case .flowing = reception { reception = .paused } }

  /// Holds everything back, pings too, as it comes.
  public mutating func stop() { if isOpen, !isHolding { reception = .holding(nil, rest: []) } }

  /// Keeps bytes for the time when messages are taken again; to be called while ``isHolding``.
  public mutating func hold(_ input: RawSpan) {
    guard case .holding(let message, var rest) = reception else { return }
    // Released first, so that the array is appended to in place.
    reception = .paused
    unsafe input.withUnsafeBytes { unsafe rest.append(contentsOf: $0) }
    reception = .holding(message, rest: rest)
  }

  /// Takes messages again.
  ///
  /// - Returns: the message that was held back, unless the session has begun to close, and the bytes behind it, which
  ///   are to be given to ``next(_:from:now:)``; nil if nothing was held back.
  public mutating func resume() -> (message: WebSocketMessage?, rest: [UInt8])? {
    defer { reception = .flowing }
    guard case .holding(let message, let rest) = reception else { return nil }
    return (isOpen ? message : nil, rest)
  }

  /// The number of bytes of memory that messages take which are unfinished or held back.
  public var heldBytes: Int {
    guard case .holding(let message, let rest) = reception else { return decoder.unfinishedBytes }
    return decoder.unfinishedBytes + (message?.bytes.count ?? 0) + rest.count
  }

  /// True if the peer is known not to read.
  public var isBackedUp: Bool { if case .backedUp = output { true } else { false } }

  /// Records that the peer reads too slowly.
  public mutating func becameBackedUp() {
    if case .flowing = output { output = .backedUp(owedPong: nil) }
  }

  /// Records that all that was to be sent has been.
  ///
  /// - Returns: the pong that is owed to the peer, if there is one.
  public mutating func drained() -> Action? {
    defer { output = .flowing }
    guard case .backedUp(let owedPong?) = output else { return nil }
    return .write(.pong, owedPong)
  }

  // MARK: Output

  /// Appends a frame as this end sends it, masked or not.
  ///
  /// - Parameter output: the bytes to be sent.
  public func append(
    _ opcode: WebSocketFrame.Opcode, _ payload: [UInt8], to output: inout [UInt8]
  ) {
    // A client's key must be fresh for each frame (RFC 6455 section 5.3).
    let mask: UInt32? = role == .client ? .random(in: .min ... .max) : nil
    WebSocketFrame.append(opcode, payload, mask: mask, to: &output)
  }

  // MARK: Ends

  /// Begins the close handshake; messages that still come are discarded.
  ///
  /// The caller calls ``resume()`` next, as the peer's close frame may stand behind the held input.
  ///
  /// - Parameters:
  ///   - code: a code that may stand in a close frame.
  ///   - reason: at most 123 bytes of text.
  ///   - now: the moment, in milliseconds.
  /// - Returns: the close frame, or nil if the session is no longer open.
  public mutating func close(_ code: UInt16, reason: String, now: Int64) -> Action? {
    guard isOpen else { return nil }
    state = .closing(deadline: now + closeTimeout)
    return .write(.close, WebSocketFrame.closePayload(code, reason: reason))
  }

  /// Ends the session because the peer broke a limit.
  ///
  /// - Parameter code: the code that the peer is told, unless a close frame has been sent before.
  /// - Returns: the end, or nil if the session is over already.
  public mutating func fail(_ code: UInt16) -> Action? {
    guard outcome == nil else { return nil }
    let closeFrame = isOpen ? WebSocketFrame.closePayload(code) : nil
    state = .over(.failed(code))
    return .end(.failed(code), closeFrame: closeFrame, isLast: true)
  }

  /// Records that the peer sends nothing more.
  ///
  /// - Returns: the end, or nil if it has been reported before.
  public mutating func peerEnded() -> Action? {
    switch state {
    case .open, .closing:
      state = .over(.disconnected)
      return .end(.disconnected, closeFrame: nil, isLast: true)
    case .awaitingEnd(let outcome, _):
      state = .over(outcome)
      return .finish
    case .over: return nil
    }
  }

  private mutating func end(_ outcome: Outcome, _ closeFrame: [UInt8]?, at now: Int64) -> Action {
    state =
      role == .server ? .over(outcome) : .awaitingEnd(outcome, deadline: now + Self.endTimeout)
    return .end(outcome, closeFrame: closeFrame, isLast: role == .server)
  }

  // MARK: Time

  /// Takes the time, several times a second.
  ///
  /// - Parameters:
  ///   - now: the moment, in milliseconds.
  ///   - isReading: whether this end reads; if it doesn't, the peer's silence is no fault.
  /// - Returns: a ping, or an end.
  public mutating func tick(now: Int64, isReading: Bool = true) -> Action? {
    switch state {
    case .open(var open):
      let action = tick(&open, now: now, isReading: isReading)
      if isOpen { state = .open(open) }
      return action
    case .closing(let deadline): return now > deadline ? timeOut() : nil
    case .awaitingEnd(let outcome, let deadline):
      guard now > deadline else { return nil }
      state = .over(outcome)
      return .finish
    case .over: return nil
    }
  }

  private mutating func tick(_ open: inout Open, now: Int64, isReading: Bool) -> Action? {
    guard isReading else {
      open.askedAt = now
      return nil
    }
    if let deadline = open.messageDeadline, let messageTime, let count = decoder.unfinishedCount {
      if now >= deadline.time {
        // Growing earns as long again: only what goes on coming holds memory.
        guard count >= deadline.count else { return fail(WebSocketClose.policyViolation) }
        open.messageDeadline = (now + messageTime, count + messageProgress)
      }
      // No pong can overtake the frame that the peer is sending: it is not asked meanwhile.
      open.askedAt = now
      return nil
    }
    guard now - open.askedAt >= pingInterval else { return nil }
    guard open.unansweredPings < 2 else { return timeOut() }
    open.askedAt = now
    open.unansweredPings += 1
    // Not to be guessed by a peer that doesn't read it.
    let payload = Array(String(UInt64.random(in: .min ... .max), radix: 16).utf8)
    open.earlierPong = open.awaitedPong
    open.awaitedPong = payload
    return .write(.ping, payload)
  }

  private mutating func timeOut() -> Action {
    state = .over(.unresponsive)
    return .abort
  }
}

extension WebSocketMachine {
  /// The limits of one session.
  public struct Limits: Sendable {
    /// The longest message taken, in bytes; a longer one closes with 1009.
    public var maximumMessage = 1 << 20
    /// The time in which an unfinished message may grow by less than ``messageProgress``, or nil for any time; then the session
    /// is closed with 1008.
    public var messageTime: Duration?
    /// The number of bytes that an unfinished message must grow by in ``messageTime``.
    public var messageProgress = 256 << 10
    /// The time after which the peer is asked for a sign of life; after two pings without one it is given up.
    public var pingInterval: Duration = .seconds(30)
    /// The time in which the peer's close frame must come.
    public var closeTimeout: Duration = .seconds(5)

    /// The default limits.
    public init() {}
  }

  /// The way in which a session ended.
  public enum Outcome: Sendable, Equatable {
    /// The peer sent a close frame: its code, 1005 if it gave none, and its reason in UTF-8.
    case closed(UInt16, reason: [UInt8])
    /// The peer broke the protocol or a limit; it is told this code.
    case failed(UInt16)
    /// The connection ended without a close frame.
    case disconnected
    /// The peer answered neither pings nor the close frame.
    case unresponsive
  }

  /// A step for the driver.
  public enum Action: Sendable, Equatable {
    /// Gives a message to the user.
    case deliver(WebSocketMessage)
    /// Writes a ping, a pong or a close frame with ``append(_:_:to:)``.
    case write(WebSocketFrame.Opcode, [UInt8])
    /// Notifies the user that the peer has answered the last ping: all that was sent before has arrived.
    case confirm
    /// Notifies the user that the session is over, after writing a close frame with a payload, if there is one.
    ///
    /// The driver ends the TCP connection in order if `isLast`; otherwise the machine asks for that later.
    case end(Outcome, closeFrame: [UInt8]?, isLast: Bool)
    /// Ends the TCP connection in order; the user has been notified before.
    case finish
    /// Drops the TCP connection; the user is notified that the peer does not respond.
    case abort
  }
}
