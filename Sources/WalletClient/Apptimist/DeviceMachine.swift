internal import ApptimistProtocol
internal import Cryptography

/// What a ``Device`` does, without I/O: logging in, requests and their answers in order, the stream, and what
/// becomes of it all when the connection breaks.
struct DeviceMachine {
  /// What is to be done, in order.
  enum Action: Equatable {
    case send(PDU, data: [UInt8])
    /// A request has come to its end.
    case complete(UInt64, Result<DeviceRequest.Answer, DeviceError>)
    /// Something of the stream, to be kept until it is taken.
    case deliver(StreamEntry)
    /// The service has let the device in.
    case established
    /// The connection must be ended, and another made.
    case disconnect
    /// Likewise, to the place that the service says.
    case redirect(String)
  }

  private enum Phase { case offline, joining, established }

  private struct Pending {
    let id: UInt64
    var request: DeviceRequest
    /// Whether nobody waits for it any more.
    var isAbandoned = false
  }

  /// The number of the search that ends the login; requests have others.
  private static let login: UInt64 = 0
  /// How many requests, and bytes of them, are on their way at once; a single one may be larger.
  private static let window = (requests: 32, bytes: 1 << 20)

  private let keys: DeviceKeys
  private let history: UInt16
  private let streamBuffer: Int
  private var account: NewAccount?
  private var phase = Phase.offline
  /// Not sent on this connection.
  private var waiting: [Pending] = []
  /// Sent, in order, and not answered.
  private var inFlight: [Pending] = []
  /// The last message that came.
  private var head: MessageID
  /// How many bytes of the stream wait to be taken.
  private var buffered = 0
  /// Whether the stream is paused because too much of it waits.
  private var isFull = false
  /// Whether it is paused because that was asked for.
  private var isPaused = false

  /// A machine without a connection.
  ///
  /// - Parameters:
  ///   - keys: who logs in.
  ///   - account: the account to be made before; nil if there is one.
  ///   - head: the last message that the app has; zero: none.
  ///   - options: limits.
  init(_ keys: DeviceKeys, account: NewAccount?, head: MessageID, _ options: DeviceOptions) {
    self.keys = keys
    self.account = account
    self.head = head
    history = options.history
    streamBuffer = options.streamBuffer
  }

  var isEstablished: Bool { phase == .established }

  /// Whether the service sends on although it was told to pause: then nothing more is read.
  var isOverfull: Bool { buffered > streamBuffer * 16 }

  // MARK: - Connection

  /// A connection was made: logs in.
  mutating func connected() -> [Action] {
    phase = .joining
    let own = keys.user
    var parts: [DeviceRequest.Part] = []
    if let account {
      parts.append(
        DeviceRequest.Part(
          pdu: .new(
            PDU.New(
              key: own, authenticationKey: keys.authentication.publicKey,
              name: account.name.bytes, uid: account.uid, token: account.token))))
    }
    let login = PDU.Login(
      user: own, signature: keys.authentication.sign(own), max: history, head: head)
    parts.append(DeviceRequest.Part(pdu: .login(login)))
    if isPaused || isFull { parts.append(DeviceRequest.Part(pdu: .pause(PDU.Pause()))) }
    // Only who is logged in gets an answer.
    parts.append(DeviceRequest.Part(pdu: .searchByKey(PDU.SearchByKey(key: own))))
    let request = DeviceRequest(parts, expecting: .user(own))
    inFlight = [Pending(id: Self.login, request: request)]
    return parts.map { .send($0.pdu, data: $0.data) }
  }

  /// The connection is gone: what may be repeated will be, behind the next login.
  mutating func disconnected() -> [Action] {
    phase = .offline
    var actions: [Action] = []
    var repeated: [Pending] = []
    for pending in inFlight where pending.id != Self.login && !pending.isAbandoned {
      if pending.request.isRepeatable {
        repeated.append(Pending(id: pending.id, request: pending.request.renewed))
      } else {
        actions.append(.complete(pending.id, .failure(.interrupted)))
      }
    }
    inFlight = []
    waiting = repeated + waiting
    return actions
  }

  /// There will be no further connection: nothing that was asked will be done.
  mutating func stopped(_ error: DeviceError) -> [Action] {
    let actions = disconnected()
    defer { waiting = [] }
    return actions + waiting.map { .complete($0.id, .failure(error)) }
  }

  // MARK: - Requests

  /// Something is asked of the service.
  ///
  /// - Parameters:
  ///   - id: its number, not zero.
  ///   - request: what is asked.
  mutating func submit(_ id: UInt64, _ request: DeviceRequest) -> [Action] {
    waiting.append(Pending(id: id, request: request))
    return sendWaiting()
  }

  /// Nobody waits for a request any more. If it has been sent, its answer is still awaited: others stand
  /// behind it.
  mutating func abandon(_ id: UInt64) {
    waiting.removeAll { $0.id == id }
    for index in inFlight.indices where inFlight[index].id == id {
      inFlight[index].isAbandoned = true
    }
  }

  private mutating func sendWaiting() -> [Action] {
    guard phase == .established else { return [] }
    var actions: [Action] = []
    var bytes = inFlight.reduce(0) { $0 + $1.request.cost }
    var sent = 0
    for pending in waiting {
      guard inFlight.count < Self.window.requests,
        inFlight.isEmpty || bytes + pending.request.cost <= Self.window.bytes
      else { break }
      bytes += pending.request.cost
      sent += 1
      inFlight.append(pending)
      actions += pending.request.parts.map { .send($0.pdu, data: $0.data) }
    }
    waiting.removeFirst(sent)
    return actions
  }

  // MARK: - What comes

  /// A PDU came.
  ///
  /// - Parameters:
  ///   - pdu: what it is.
  ///   - header: its header in clear.
  ///   - data: its data, boxed.
  mutating func received(_ pdu: PDU, header: [UInt8], data: ArraySlice<UInt8>) -> [Action] {
    switch pdu {
    case .message(let message):
      guard message.recipient == keys.user else { return [] }
      let message = DeviceMessage(message, header: header, data: data)
      head = message.id
      return deliver(.message(message))
    case .truncate(let truncation):
      for index in inFlight.indices where inFlight[index].request.takeEcho(truncation.message) {
        return []
      }
      return deliver(.truncation(truncation.message))
    case .redirect(let redirect): return [.redirect(String(decoding: redirect.uri, as: UTF8.self))]
    case .user, .vouchers, .read, .lock, .write, .remove: return takeAnswer(pdu, data)
    case .login, .new, .del, .pause, .resume, .vouch, .searchByName, .searchByUid, .searchByKey:
      // No service sends these today.
      return []
    }
  }

  private mutating func takeAnswer(_ pdu: PDU, _ data: ArraySlice<UInt8>) -> [Action] {
    guard !inFlight.isEmpty else { return [.disconnect] }
    switch inFlight[0].request.take(pdu, data) {
    case .incomplete: return []
    case .mismatch: return [.disconnect]
    case .complete(let answer):
      let id = inFlight.removeFirst().id
      guard id == Self.login else { return [.complete(id, .success(answer))] + sendWaiting() }
      // Logged in under a key that nobody has: that can't be.
      guard answer != .users([]) else { return [.disconnect] }
      phase = .established
      account = nil
      return [.established] + sendWaiting()
    }
  }

  // MARK: - The stream

  private mutating func deliver(_ entry: StreamEntry) -> [Action] {
    buffered += Self.cost(entry)
    guard !isFull, buffered > streamBuffer else { return [.deliver(entry)] }
    isFull = true
    return [.deliver(entry)] + (isPaused ? [] : [.send(.pause(PDU.Pause()), data: [])])
  }

  /// An entry was taken by the app.
  mutating func taken(_ entry: StreamEntry) -> [Action] {
    buffered -= Self.cost(entry)
    guard isFull, buffered <= streamBuffer / 2 else { return [] }
    isFull = false
    return isPaused || phase == .offline ? [] : [.send(.resume(PDU.Resume()), data: [])]
  }

  /// The app wants the stream to pause, or to go on.
  mutating func setPaused(_ isPaused: Bool) -> [Action] {
    guard isPaused != self.isPaused else { return [] }
    self.isPaused = isPaused
    guard phase != .offline, !isFull else { return [] }
    return [.send(isPaused ? .pause(PDU.Pause()) : .resume(PDU.Resume()), data: [])]
  }

  private static func cost(_ entry: StreamEntry) -> Int {
    switch entry {
    case .message(let message): message.box.count + 256
    case .truncation: 64
    }
  }
}
