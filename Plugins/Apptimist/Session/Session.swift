internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol

/// A device's connection, without I/O: takes what comes, and says what to do.
///
/// It asks one question at a time, and receives nothing while one is open, so that everything is done
/// in the order in which it came. Only while posts are being queued it goes on receiving: further
/// posts are gathered, to be asked together next, and anything else waits until all of them are
/// queued. It can't be copied, as its boxes can't.
struct Session: ~Copyable {
  /// What a session is made for.
  struct Setup: Sendable {
    /// The service's keys.
    let keys: ServiceKeys
    /// The device's, from the URI's query.
    let ephemeralKey: EncryptionPublicKey
    /// Where the device connected to, without a query.
    let uri: String
    let limits: SessionLimits
    /// How long the silence lasts if the session is refused.
    let silence: Duration
    /// Told of what happens.
    let note: @Sendable (SessionEvent) -> Void
  }

  /// How far a session is.
  enum Phase: Equatable {
    /// Nothing has come yet that opens.
    case open
    /// The device has the ephemeral key's secret, and is this key's only user.
    case joining
    /// Logged in.
    case established
    /// Closed, or the device is gone; what came before is still being queued.
    case left
    /// Refused, and silent for a while.
    case refused
    /// Closed, or about to be.
    case closed
  }

  let setup: Setup
  var phase = Phase.open
  /// The boxes around the headers; their key is wiped with the session.
  var channel: HeaderChannel
  /// The box around files' data, once one is needed.
  var fileKey: BoxKey?
  /// The account that `new` made, or the one that logged in.
  var registered: PDU.New?
  var account: Account?
  var login: PDU.Login?
  var stream: StreamProgress?
  /// What the open question is about; nil: none is open.
  var request: Request?
  /// Posts that came while others are being queued.
  var gathered = PostBatch()
  /// What came behind them, and waits for all of them.
  var postponed: Received?
  var actions: [SessionAction] = []
  /// Whether the socket is slow to take what was sent.
  var isBackedUp = false

  /// A PDU that came, with its header in clear and its data as it is boxed.
  struct Received {
    let pdu: PDU
    let header: [UInt8]
    let data: [UInt8]
  }

  /// What the open question is about.
  enum Request {
    /// The first PDU, which waits for the key to be claimed.
    case first(header: [UInt8], data: [UInt8])
    case new(PDU.New)
    case login
    case start
    case posts([PDU.Message])
    case truncate(MessageID)
    case vouchers(of: EncryptionPublicKey)
    case search
    case read(PDU.Read)
    case lock(PDU.Lock)
    case write(PDU.Write)
    case remove(PDU.Remove)
    case other
  }

  /// A session that has just been opened.
  ///
  /// - Parameter setup: what it is made for.
  /// - Returns: nil if no secret can be agreed on with the ephemeral key.
  init?(_ setup: Setup) {
    let channel = HeaderChannel(
      own: setup.keys.encryption, peer: setup.ephemeralKey,
      dataNonce: setup.keys.identity.dataNonce)
    guard let channel else { return nil }
    self.setup = setup
    self.channel = channel
  }

  // MARK: - What the driver asks

  /// Whether nothing can be received until an answer comes.
  var isWaiting: Bool {
    guard case .posts = request else { return request != nil }
    return postponed != nil || channel.isWornOut
  }

  /// Whether nothing more is to come.
  var isOver: Bool { phase == .closed || phase == .left }

  /// Who is logged in.
  var user: EncryptionPublicKey? { phase == .established ? account?.key : nil }

  /// Decides whether to read the queue.
  ///
  /// - Returns: the position to read after; nil: not now.
  mutating func nextRead() -> StreamPosition? {
    guard phase == .established, !isBackedUp else { return nil }
    return stream?.nextRead()
  }

  // MARK: - Events

  /// The session was opened.
  mutating func opened() -> [SessionAction] {
    actions.append(.wait(setup.limits.loginTime))
    return takeActions()
  }

  /// A message came.
  mutating func received(_ message: WebSocketMessage) -> [SessionAction] {
    guard phase == .open || isOpen else { return [] }
    switch message {
    case .text: close(1003)
    case .binary(let bytes): receive(bytes)
    }
    return takeActions()
  }

  /// An answer to the open question came.
  mutating func answered(_ answer: Answer) -> [SessionAction] {
    let request = self.request
    self.request = nil
    guard let request, phase != .refused, phase != .closed else { return [] }
    take(answer, to: request)
    goOn()
    endIfWornOut()
    return takeActions()
  }

  /// The user's queue has a further entry; this session didn't make it.
  mutating func queued(_ entry: StreamEntry) -> [SessionAction] {
    guard phase == .established else { return [] }
    if stream?.note(entry.position, isReady: !isBackedUp) == true {
      deliver(entry)
    }
    return takeActions()
  }

  /// A part of the queue was read; nil: that failed.
  mutating func read(_ page: StreamPage?) -> [SessionAction] {
    guard phase == .established else { return [] }
    guard let page else {
      close(1011)
      return takeActions()
    }
    guard stream?.isPaused == false else {
      stream?.finishRead(end: nil, isLast: false)
      return []
    }
    for entry in page.entries where stream?.wants(entry.position) == true {
      guard deliver(entry) else {
        stream?.finishRead(end: nil, isLast: false)
        return takeActions()
      }
    }
    stream?.finishRead(end: page.end, isLast: page.isLast)
    return takeActions()
  }

  /// The time is over that the session wanted to wait.
  mutating func timeIsOver() -> [SessionAction] {
    switch phase {
    case .open, .joining:
      setup.note(.refused)
      close(1008)
    case .refused: close(1008)
    case .established, .left, .closed: break
    }
    return takeActions()
  }

  /// The user has opened too many sessions after this one.
  mutating func evicted() -> [SessionAction] {
    if !isOver { close(1008) }
    return takeActions()
  }

  /// The server is about to stop; the session is closed with 1001 in any case.
  ///
  /// - Parameter uri: where devices are to go; nil: nowhere in particular.
  mutating func draining(to uri: String?) -> [SessionAction] {
    // Before the key is claimed, another connection may use the same nonces.
    if let uri, isOpen { redirect(to: uri) }
    end()
    return takeActions()
  }

  /// The connection is over; what came behind posts that are being queued is still done.
  mutating func ended() {
    end()
    stream = nil
    fileKey = nil
    if phase == .closed { account = nil }
  }
}
